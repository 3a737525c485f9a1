// node web/types.mjs FOLDER: writes hologram.d.ts beside the built module in FOLDER, from the table of
// functions that it has.
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = resolve(process.argv[2] ?? '.');
const { Hologram } = await import(pathToFileURL(`${folder}/hologram.js`));
const hg = await Hologram.create({ threads: 1 });

// "sum(x, axis=none)" is [["x", undefined], ["axis", "none"]].
function parametersOf(signature) {
  const inside = signature.slice(signature.indexOf('(') + 1, signature.lastIndexOf(')'));
  let depth = 0, part = '';
  const parts = [];
  for (const c of `${inside},`) {
    if (c === ',' && depth === 0) {
      if (part.trim() !== '') parts.push(part.trim());
      part = '';
      continue;
    }
    depth += '[('.includes(c) ? 1 : '])'.includes(c) ? -1 : 0;
    part += c;
  }
  return parts.map((p) => p.split('=').map((s) => s.trim()));
}

const words = new Set(['default', 'in', 'with', 'new', 'delete', 'function']);
const safe = (name) => words.has(name) ? `${name}_` : name;
function declarations(functions, skip) {
  let text = '';
  for (const { name, signature, meaning } of functions) {
    const all = parametersOf(signature).slice(skip);
    const positional = all.map(([p, otherwise]) => `${safe(p)}${otherwise === undefined ? '' : '?'}: Argument`);
    text += `  /** ${signature}: ${meaning} */\n  ${name}(${positional.join(', ')}): Tensor;\n`;
    const optional = all.filter(([, otherwise]) => otherwise !== undefined);
    if (optional.length === 0) continue;
    const required = all.filter(([, otherwise]) => otherwise === undefined).map(([p]) => `${safe(p)}: Argument`);
    const named = `named: { ${optional.map(([p]) => `${p}?: Argument`).join('; ')} }`;
    text += `  ${name}(${[...required, named].join(', ')}): Tensor;\n`;
  }
  return text;
}

const own = new Set(['data', 'item', 'array', 'dispose', 'toCanvas', 'shape', 'dtype', 'size', 'rank',
  'runtime', 'handle']);
const runtime = new Set(['device', 'backend', 'why', 'limits', 'threads', 'memory', 'trim', 'gpuDevice', 'gpuCounts', 'lost',
  'onLost', 'tensor', 'image', 'eval', 'evaluate', 'call', 'program', 'run', 'finished', 'describe', 'loadModel', 'nn', 'valueAndGradient', 'adam', 'kernels',
  'selfTest', 'dispose', 'functions']);
const methods = hg.functions.filter((f) => !own.has(f.name) && parametersOf(f.signature).length > 0);
const functions = hg.functions.filter((f) => !runtime.has(f.name));

await writeFile(`${folder}/hologram.d.ts`, `// Generated from the table of functions.
export type DType = 'bool' | 'i8' | 'u8' | 'i16' | 'u16' | 'i32' | 'u32' | 'i64' | 'u64' | 'f16' | 'bf16' |
  'f32' | 'f64';
export type TypedArray = Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array |
  Uint32Array | BigInt64Array | BigUint64Array | Float32Array | Float64Array;
export type Nested = number | bigint | boolean | Nested[];
/** What functions take: tensors, numbers, lists of them, words such as a dtype's name; null is \`none\`. */
export type Argument = Tensor | number | bigint | boolean | string | null | Argument[];

export class HologramError extends Error {
  /** "InvalidArgument", "ShapeMismatch", "InvalidProgram", … */
  kind: string;
  /** What to do about it; may be empty. */
  remedy: string;
}

export interface Picture { width: number; height: number }

export interface TestReport {
  passed: number; failed: number; unsupported: number; skipped: number;
  failures: { name: string; reason: string }[];
}

export interface Limits { bytes: number; lanes: number; workgroupBytes: number; buffers: number }

export interface LaunchOptions { shapes?: Record<string, number[]>; grid?: [number, number, number]; rounds?: number }

export interface Parameters {
  name: string;
  buffers: { name: string; access: string; dtype: DType; shape: (string | number)[] | null }[];
  scalars: { name: string; dtype: DType; default?: number | boolean }[];
}

export class Program {
  /** Verified and optimised. */
  readonly text: string;
  readonly source: string;
  readonly parameters: Parameters;
  run(args?: Record<string, Tensor | Nested | TypedArray>, options?: LaunchOptions): Record<string, Tensor>;
  /** In a language of GPUs. */
  show(dialect: string): string;
}

export class Tensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly size: number;
  readonly rank: number;
  readonly runtime: Hologram;
  /** All elements, row by row; f16 and bf16 as their bits. */
  data(): Promise<TypedArray>;
  item(): Promise<number | bigint>;
  array(): Promise<Nested>;
  dispose(): void;
  toCanvas(canvas: HTMLCanvasElement | OffscreenCanvas): Promise<HTMLCanvasElement | OffscreenCanvas>;
${declarations(methods, 1)}}

export interface Message { role: string; content: string; [more: string]: unknown }

export interface GenerateOptions {
  maxTokens?: number;
  /** The likeliest token each time. */
  greedy?: boolean;
  temperature?: number; topK?: number; topP?: number; minP?: number; seed?: number;
  repetitionPenalty?: number; presencePenalty?: number; frequencyPenalty?: number;
  /** Texts that end the answer, and are not part of it. */
  stop?: string | string[];
  /** The answer is JSON of this schema. */
  jsonSchema?: string | object;
  /** Text of the prompt that spells a control token is that token. */
  special?: boolean;
  signal?: AbortSignal;
}

export interface Generation {
  text: string; tokens: number[];
  finishReason: 'end of text' | 'length' | 'stop' | 'context' | 'cancelled';
  promptTokens: number; reusedTokens: number;
  prefillSeconds: number; decodeSeconds: number; tokensPerSecond: number;
}

export class LanguageModel {
  readonly architecture: string;
  readonly context: number;
  readonly vocabulary: number;
  readonly hasChatTemplate: boolean;
  readonly loadSeconds: number;
  tokenize(prompt: string | Message[], options?: { special?: boolean }): number[];
  textOf(tokens: Iterable<number>): string;
  /** Continues a text or tokens, or answers messages; "false" of onToken ends the answer. */
  generate(prompt: string | number[] | Int32Array | Message[], options?: GenerateOptions,
    onToken?: (step: { token: number | null; text: string }) => unknown): Promise<Generation>;
  dispose(): void;
}

export interface AdamOptions {
  learningRate?: number; beta1?: number; beta2?: number; epsilon?: number; weightDecay?: number;
  /** Weight decay beside the gradient, as AdamW has it. */
  decoupled?: boolean;
}
export class Adam {
  parameters: Tensor[];
  /** The next parameters. */
  step(gradients: Tensor[]): Tensor[];
}

export class Hologram {
  static create(options?: {
    backend?: 'auto' | 'cpu' | 'webgpu';
    /** How many compute on the CPU; "auto" is one where the page is not isolated. */
    threads?: 'auto' | number;
    wasm?: string | URL | ArrayBuffer | TypedArray | WebAssembly.Module;
    powerPreference?: 'low-power' | 'high-performance';
    /** Of WebGPU, that the device must have. */
    features?: string[];
    /** Whether "auto" may choose an adapter in software. */
    software?: boolean;
    onLost?: (error: HologramError) => void;
  }): Promise<Hologram>;
  /** What create could open, with the reason where it could not. */
  static devices(options?: { powerPreference?: 'low-power' | 'high-performance' }):
    Promise<{ backend: string; name: string; software: boolean; reason: string }[]>;
  readonly device: {
    backend: 'cpu' | 'webgpu'; name: string; driver: string; software: boolean; exact: boolean; memory: number;
    limits: Limits; dtypes: DType[];
  };
  readonly backend: 'cpu' | 'webgpu';
  /** How the device was chosen. */
  readonly why: string;
  readonly limits: Limits;
  /** How many compute on the CPU, the one that asks among them. */
  readonly threads: number;
  /** Bytes of tensors, and bytes kept for others. */
  readonly memory: { live: number; cached: number };
  /** Gives what is kept back to the device. */
  trim(): void;
  /** The GPUDevice, or null. */
  readonly gpuDevice: object | null;
  /** How many objects of WebGPU the runtime has. */
  readonly gpuCounts: { objects: number; buffers: number; bytes: number; coming: number };
  /** Resolves if the device is lost. */
  readonly lost: Promise<HologramError>;
  onLost: ((error: HologramError) => void) | null;
  readonly functions: readonly { name: string; signature: string; meaning: string }[];
  tensor(values: Nested | TypedArray, options?: { shape?: number[]; dtype?: DType }): Tensor;
  image(source: Picture): Tensor;
  eval(text: string, inputs?: Record<string, Tensor | Nested | TypedArray>): any;
  /** The same, for what needs values of the device while it is put together. */
  evaluate(text: string, inputs?: Record<string, Tensor | Nested | TypedArray>): Promise<any>;
  call(name: string, args: (Argument | Record<string, Argument>)[]): Tensor;
  program(text: string): Program;
  /** Launches a program and waits until it is done. */
  run(program: Program | string, args?: Record<string, Tensor | Nested | TypedArray>, options?: LaunchOptions):
    Promise<{ outputs: Record<string, Tensor>; seconds: number; grid: [number, number, number] }>;
  readonly nn: {
    /** weight is [outputs, inputs]. */
    linear(x: Tensor, weight: Tensor, bias?: Tensor): Tensor;
    /** The mean over rows of logits, with classes as integers. */
    crossEntropy(logits: Tensor, classes: Tensor): Tensor;
    mse(x: Tensor, target: Tensor): Tensor;
  };
  /** The value of a function, one number, and its gradient by each of the tensors. */
  valueAndGradient(f: (...tensors: Tensor[]) => Tensor, tensors: Tensor[]): { value: Tensor; gradients: Tensor[] };
  adam(parameters: Tensor[], options?: AdamOptions): Adam;
  /** A language model of the bytes of a GGUF file. */
  loadModel(source: ArrayBuffer | TypedArray | Blob, options?: {
    context?: number; cache?: 'f16' | 'f32'; name?: string;
    onProgress?: (progress: { loaded: number; total: number }) => void;
  }): Promise<LanguageModel>;
  /** Resolves when the device has done all that was asked of it. */
  finished(): Promise<void>;
  /** The names that an expression needs values for, and those that it gives. */
  describe(expression: string): { inputs: string[]; outputs: string[] };
  /** The fused kernels behind tensors, as Atlas or in a language of GPUs. */
  kernels(tensors: Tensor | Tensor[], dialect?: string): { name: string; text: string }[];
  /** Cases of the conformance suite whose names match; of these one in so many as "every" says. */
  selfTest(filter?: string, options?: {
    every?: number; signal?: AbortSignal; onCase?: (result: { name: string; verdict: string; reason: string }) => void;
  }): Promise<TestReport>;
  dispose(): void;
${declarations(functions, 0)}}
`);
hg.dispose();
