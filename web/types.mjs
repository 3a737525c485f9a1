// node web/types.mjs FOLDER: writes hologram.d.ts beside the built module in FOLDER, from the table of
// functions that it has.
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = resolve(process.argv[2] ?? '.');
const { Hologram } = await import(pathToFileURL(`${folder}/hologram.js`));
const hg = await Hologram.create();

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
const runtime = new Set(['device', 'tensor', 'image', 'eval', 'call', 'program', 'selfTest', 'dispose',
  'functions']);
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
}

export interface Picture { width: number; height: number }

export interface TestReport {
  passed: number; failed: number; unsupported: number; skipped: number;
  failures: { name: string; reason: string }[];
}

export class Program {
  /** Verified and optimised. */
  readonly text: string;
  readonly source: string;
  run(args?: Record<string, Tensor | Nested | TypedArray>,
      options?: { shapes?: Record<string, number[]>; grid?: [number, number, number] }): Record<string, Tensor>;
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

export class Hologram {
  static create(options?: {
    backend?: 'auto' | 'cpu'; wasm?: string | URL | ArrayBuffer | TypedArray | WebAssembly.Module;
  }): Promise<Hologram>;
  readonly device: { backend: string; name: string; memory: number };
  readonly functions: readonly { name: string; signature: string; meaning: string }[];
  tensor(values: Nested | TypedArray, options?: { shape?: number[]; dtype?: DType }): Tensor;
  image(source: Picture): Tensor;
  eval(text: string, inputs?: Record<string, Tensor | Nested | TypedArray>): any;
  call(name: string, args: (Argument | Record<string, Argument>)[]): Tensor;
  program(text: string): Program;
  selfTest(filter?: string): Promise<TestReport>;
  dispose(): void;
${declarations(functions, 0)}}
`);
hg.dispose();
