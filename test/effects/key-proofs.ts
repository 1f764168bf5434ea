/** Finds the configuration keys whose effect a test checks with `assertKeyEffect`. */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { expandKeys } from '@plinth/dev/testing'
import { parse } from 'acorn'
import { testFiles } from '../../scripts/test-files.ts'

type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<Record<string, unknown>>

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

/** Returns all keys whose effect a test file checks. */
export const provenKeysBelow = (root: string): Set<string> =>
  new Set(testFiles(root).flatMap((file) => provenKeys(readFileSync(join(root, file), 'utf8'))))
