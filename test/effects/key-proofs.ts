/** Finds the configuration keys whose effect a test checks with `assertKeyEffect`. */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { expandKeys } from '@plinth/kernel/testing'
import { parse } from 'acorn'
import { testFiles } from '../../scripts/test-files.ts'

export type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<
  Record<string, unknown>
>

const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string'

/** Returns all nodes of a TypeScript source, with their positions in the source. */
function nodesOf(source: string): Node[] {
  const below = (node: Node): Node[] => [node, ...Object.values(node).flat().filter(isNode).flatMap(below)]
  const program = parse(stripTypeScriptTypes(source), { ecmaVersion: 'latest', sourceType: 'module' })
  return below(program as unknown as Node)
}

/** Returns the text of a string literal; undefined for any other node. */
const textOf = (node: Node | undefined): string | undefined =>
  node?.type === 'Literal' && typeof node['value'] === 'string' ? node['value'] : undefined

/** Returns the keys of a call `assertKeyEffect(t, '<keys>', ...)`. Comments and other texts are ignored. */
function keysOfCall(node: Node): string[] {
  const callee = node['callee'] as Node | undefined
  if (node.type !== 'CallExpression' || callee?.type !== 'Identifier' || callee['name'] !== 'assertKeyEffect') return []
  const keys = textOf((node['arguments'] as Node[])[1])
  return keys?.startsWith('platform.') ? expandKeys(keys) : []
}

/** Returns the keys whose effect a test file checks. */
export const provenKeys = (source: string): string[] =>
  source.includes('assertKeyEffect(') ? nodesOf(source).flatMap(keysOfCall) : []

/**
 * Returns the title of the outermost test that checks the effect of a key; undefined if the check is in a function
 * outside of all tests.
 */
export function provingTest(source: string, key: string): string | undefined {
  const nodes = nodesOf(source)
  const call = nodes.find((node) => keysOfCall(node).includes(key))
  const statements = (nodes[0]?.['body'] ?? []) as readonly Node[]
  const around = statements.find(({ start, end }) => call !== undefined && start <= call.start && call.end <= end)
  const { arguments: args = [] } = (around?.['expression'] ?? {}) as { readonly arguments?: readonly Node[] }
  return args.map(textOf).find((text) => text !== undefined)
}

/** Returns the test files that check the effect of each key. */
export function filesByKey(root: string): Map<string, string[]> {
  const files = new Map<string, string[]>()
  for (const file of testFiles(root))
    for (const key of new Set(provenKeys(readFileSync(join(root, file), 'utf8'))))
      files.set(key, [...(files.get(key) ?? []), file])
  return files
}
