#pragma once
struct dispatch_object;
typedef dispatch_object *dispatch_queue_t, *dispatch_data_t;
