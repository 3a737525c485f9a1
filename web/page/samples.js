// What the editor offers to start from. values: what stands in the fields, where not what is taken.
export const SAMPLES = [
  {
    id: 'waves',
    title: 'Expression: two waves meet',
    text: `# Two waves meet, in three colours.
x = linspace(-1.5, 1.5, 480)[:, none]
y = linspace(-1, 1, 320)[:, none, none]
phase = [0, 0.6, 1.2]
left = sin(30 * hypot(x + 0.5, y) - phase)
right = sin(30 * hypot(x - 0.5, y) - phase)
0.5 + 0.25 * (left + right)`,
  },
  {
    id: 'line',
    title: 'Expression: arithmetic',
    text: 'sigmoid(a * x + b)',
    values: { a: '2', x: '[-2, -1, 0, 1, 2]', b: '0.5' },
  },
  {
    id: 'rows',
    title: 'Expression: normalised rows',
    text: `# Rows with mean 0 and variance 1.
centred = x - mean(x, axis=1, keepdims=true)
y = centred / sqrt(mean(centred ** 2, axis=1, keepdims=true) + 1e-5)`,
    values: { x: 'rand([4, 6])' },
  },
  {
    id: 'product',
    title: 'Expression: product and softmax',
    text: 'softmax(a @ b)',
    values: { a: 'randn([4, 8])', b: 'randn([8, 4])' },
  },
  {
    id: 'negative',
    title: 'Expression: a picture turned',
    text: 'flip(1 - picture, axis=1)',
  },
  {
    id: 'brighten',
    title: 'Program: brighten',
    text: `program brighten(in src: f32[h, w, c], out dst: f32[h, w, c], gain: f32 = 1.5)
    workgroup(64, 4) lanes(w, h) {
  require gain >= 0
  x = global_id.x
  y = global_id.y
  if x < w && y < h {
    for k in 0..c {
      dst[y, x, k] = min(src[y, x, k] * gain, 1.0)
    }
  }
}`,
  },
  {
    id: 'saxpy',
    title: 'Program: saxpy',
    example: 'saxpy',
    values: { x: '[1, 2, 3, 4]', y: '[10, 20, 30, 40]', a: '2' },
  },
  { id: 'mandelbrot', title: 'Program: Mandelbrot', example: 'mandelbrot' },
  { id: 'sobel', title: 'Program: Sobel edges', example: 'sobel' },
  {
    id: 'bilateral',
    title: 'Program: bilateral filter',
    example: 'bilateral',
    values: { sigma_range: '0.2' },
  },
  { id: 'gaussian_blur', title: 'Program: Gaussian blur', example: 'gaussian_blur' },
  { id: 'pathtracer', title: 'Program: path tracer', example: 'pathtracer', values: { samples: '4' } },
];
