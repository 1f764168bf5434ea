/** Tests which changes of a published package `api-compat --check` reports as incompatible. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import { compareModules, publicModules } from '../../scripts/api-compat.ts'

interface Release {
  /** Code of `dist/index.js`. */
  readonly js?: string
  /** Declarations in `dist/index.d.ts`. */
  readonly types?: string
  readonly files?: Readonly<Record<string, string>>
  readonly manifest?: object
}

interface Row {
  readonly change: string
  readonly before: Release
  readonly now: Release
  /** Reported incompatibilities; none for a compatible change. */
  readonly expected: readonly string[]
}

const rows: readonly Row[] = [
  // Incompatible for callers that are already compiled.
  {
    change: 'an export is gone',
    before: { js: 'export const kept = 1, gone = 2', types: 'export declare const kept: number, gone: number;' },
    now: { js: 'export const kept = 1', types: 'export declare const kept: number;' },
    expected: ['binary: export "gone" is gone', 'source: declaration of "gone" is gone'],
  },
  {
    change: 'an export changes its kind',
    before: { js: 'export function make() {}', types: 'export declare function make(): void;' },
    now: { js: 'export const make = {}', types: 'export declare const make: {};' },
    expected: ['binary: "make" was function, is object', 'source: type of "make" changed'],
  },
  {
    change: 'a constant has another type',
    before: { js: 'export const limit = 1', types: 'export declare const limit: number;' },
    now: { js: "export const limit = '1'", types: 'export declare const limit: string;' },
    expected: ['binary: "limit" was number, is string', 'source: type of "limit" changed'],
  },
  {
    change: 'a value leaves an exported list',
    before: { js: "export const roles = ['web', 'cli']", types: 'export declare const roles: readonly string[];' },
    now: { js: "export const roles = ['web']", types: 'export declare const roles: readonly string[];' },
    expected: ['binary: "roles" has no "cli" any more'],
  },
  {
    change: 'a field of instances is gone',
    before: {
      js: 'export class Box { a = 1; b = 2 }',
      types: 'export declare class Box { a: number; b: number; }',
    },
    now: { js: 'export class Box { a = 1 }', types: 'export declare class Box { a: number; }' },
    expected: ['binary: member "Box.prototype.b" is gone', 'source: type of "Box" changed'],
  },
  {
    change: 'a method is gone',
    before: { js: 'export class Box { a() {} b() {} }', types: 'export declare class Box { a(): void; b(): void; }' },
    now: { js: 'export class Box { a() {} }', types: 'export declare class Box { a(): void; }' },
    expected: ['binary: member "Box.prototype.b" is gone', 'source: type of "Box" changed'],
  },
  {
    change: 'a static method is gone',
    before: { js: 'export class Box { static of() {} }', types: 'export declare class Box { static of(): void; }' },
    now: { js: 'export class Box {}', types: 'export declare class Box {}' },
    expected: ['binary: member "Box.of" is gone', 'source: type of "Box" changed'],
  },
  {
    change: 'a nested member is gone',
    before: { js: 'export const api = { a: { b: 1 } }', types: 'export declare const api: { a: { b: number } };' },
    now: { js: 'export const api = { a: {} }', types: 'export declare const api: { a: {} };' },
    expected: ['binary: member "api.a.b" is gone', 'source: type of "api" changed'],
  },
  {
    change: 'a nested member has another kind',
    before: { js: 'export const api = { a: { b: 1 } }', types: 'export declare const api: { a: { b: number } };' },
    now: { js: 'export const api = { a: { b: null } }', types: 'export declare const api: { a: { b: null } };' },
    expected: ['binary: "api.a.b" was number, is null', 'source: type of "api" changed'],
  },
  {
    change: 'a subpath is gone',
    before: { manifest: { './more': { types: './dist/more.d.ts', default: './dist/more.js' } } },
    now: {},
    expected: ['binary: the subpath is gone'],
  },
  {
    change: 'a command is gone',
    before: { manifest: { bin: { tool: './bin/tool.js', other: './bin/other.js' } } },
    now: { manifest: { bin: { tool: './bin/tool.js' } } },
    expected: ['binary: command "other" is gone'],
  },
  // Incompatible for callers that are compiled again.
  {
    change: 'another range of engines',
    before: { manifest: { engines: { node: '>=22' } } },
    now: { manifest: { engines: { node: '>=24' } } },
    expected: ['source: needs node >=24, not >=22'],
  },
  {
    change: 'a type behind a module file changes',
    before: { types: "export type { T } from './t.mjs';", files: { 'dist/t.d.mts': 'export type T = 1;' } },
    now: { types: "export type { T } from './t.mjs';", files: { 'dist/t.d.mts': 'export type T = 2;' } },
    expected: ['source: type of "T" changed'],
  },
  {
    change: 'a text with slashes changes',
    before: { types: "export type V = 'https://a' | 'b';" },
    now: { types: "export type V = 'https://a' | 'c';" },
    expected: ['source: type of "V" changed'],
  },
  {
    change: 'a type is gone',
    before: { types: 'export type T = 1; export type U = 2;' },
    now: { types: 'export type T = 1;' },
    expected: ['source: declaration of "U" is gone'],
  },
  {
    change: 'a parameter becomes required',
    before: { js: 'export function f() {}', types: 'export declare function f(a?: number): void;' },
    now: { js: 'export function f() {}', types: 'export declare function f(a: number): void;' },
    expected: ['source: type of "f" changed'],
  },
  {
    change: 'a result may be missing',
    before: { js: 'export function f() {}', types: 'export declare function f(): number;' },
    now: { js: 'export function f() {}', types: 'export declare function f(): number | undefined;' },
    expected: ['source: type of "f" changed'],
  },
  {
    change: 'a type has a further required member',
    before: { types: 'export interface T { a: number }' },
    now: { types: 'export interface T { a: number; b: number }' },
    expected: ['source: type of "T" changed'],
  },
  {
    change: 'a type has an optional member no more',
    before: { types: 'export interface T { a: number; b?: number }' },
    now: { types: 'export interface T { a: number }' },
    expected: ['source: type of "T" changed'],
  },
  {
    change: 'a generic type has another parameter',
    before: { types: 'export type T<A> = { a: A };' },
    now: { types: 'export type T<A extends string> = { a: A };' },
    expected: ['source: type of "T" changed'],
  },
  {
    change: 'a type becomes any',
    before: { js: 'export const a = 1', types: 'export declare const a: number;' },
    now: { js: 'export const a = 1', types: 'export declare const a: any;' },
    expected: ['source: type of "a" changed'],
  },
  // Compatible changes.
  {
    change: 'a further export',
    before: { js: 'export const a = 1', types: 'export declare const a: number;' },
    now: { js: 'export const a = 1, b = 2', types: 'export declare const a: number, b: number;' },
    expected: [],
  },
  {
    change: 'another comment',
    before: { types: '/** One. */ export type T = 1;' },
    now: { types: '/** Two. */ export type T = 1; // three' },
    expected: [],
  },
  {
    change: 'another order of members and alternatives',
    before: { types: "export type T = 'a' | 'b'; export interface U { a: 1; b: 2 }" },
    now: { types: "export interface U { b: 2; a: 1 } export type T = 'b' | 'a';" },
    expected: [],
  },
  {
    change: 'another private member',
    before: { js: 'export class Box { a() {} }', types: 'export declare class Box {\n  #private;\n  a(): void;\n}' },
    now: {
      js: 'export class Box { a() {} }',
      types: 'export declare class Box {\n  #private;\n  private b;\n  a(): void;\n}',
    },
    expected: [],
  },
  {
    change: 'an unchanged brand',
    before: {
      types: 'export declare const brand: unique symbol; export interface T { a: 1 }',
      js: 'export const brand = Symbol()',
    },
    now: {
      types: 'export declare const brand: unique symbol; export interface T { a: 1 }',
      js: 'export const brand = Symbol()',
    },
    expected: [],
  },
  {
    change: 'a further value in an exported list',
    before: { js: "export const roles = ['web']", types: 'export declare const roles: readonly string[];' },
    now: { js: "export const roles = ['web', 'cli']", types: 'export declare const roles: readonly string[];' },
    expected: [],
  },
]

const nameOf = (index: number) => `p${index}`

/** Returns the files of a release. A manifest member that begins with a dot is an additional subpath. */
function filesOf(index: number, { js = 'export {}', types = 'export {};', files = {}, manifest = {} }: Release) {
  const subpaths = Object.entries(manifest).filter(([name]) => name.startsWith('.'))
  const others = Object.entries(manifest).filter(([name]) => !name.startsWith('.'))
  const exports = { '.': { types: './dist/index.d.ts', default: './dist/index.js' }, ...Object.fromEntries(subpaths) }
  const about = {
    name: `@x/${nameOf(index)}`,
    version: '1.0.0',
    type: 'module',
    exports,
    ...Object.fromEntries(others),
  }
  return Object.entries({
    'package.json': JSON.stringify(about),
    'dist/index.js': js,
    'dist/index.d.ts': types,
    ...files,
  })
}

async function writeTree(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), text)
  }
}

t.test('C-043 C-044 each change of a package is classified', async (t) => {
  const tree: Record<string, string> = {
    'now/package.json': JSON.stringify({ workspaces: rows.map((_, index) => nameOf(index)) }),
  }
  for (const [index, { before, now }] of rows.entries()) {
    for (const [path, text] of filesOf(index, before)) tree[`previous/@x/${nameOf(index)}/${path}`] = text
    for (const [path, text] of filesOf(index, now)) tree[`now/${nameOf(index)}/${path}`] = text
  }
  const directory = t.testdir()
  await writeTree(directory, tree)
  const root = join(directory, 'now')
  const problems = await compareModules(root, publicModules(root), join(directory, 'previous'))
  for (const [index, { change, expected }] of rows.entries()) {
    const found = problems.filter(({ module }) => module.split('/')[1] === nameOf(index))
    t.strictSame(
      found.map(({ kind, detail }) => `${kind}: ${detail}`),
      expected,
      change,
    )
  }
})
