/**
 * Selects random lines of the production sources for recorded changes: `node test/proofs/draw-lines.ts --seed 20261126
 * --count 90`. The selection depends on the seed and on the sources. A larger count keeps the same lines and adds
 * further ones. Only lines with executable code are selected. Imports, types, comments, braces and texts for users are
 * skipped, as are tests, test kits, database migrations and generated files.
 */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parseSync } from 'rolldown/utils'
import type { Node } from '../effects/key-proofs.ts'
import { repository } from './noticed-changes.ts'

const sources = [
  '{config-schema,kernel,migrations}/src/**/*.ts',
  'plugins/*/src/**/*.{ts,tsx}',
  'plugins/console/web/**/*.{ts,tsx}',
]
const omitted = /\/(testing|conformance|test)\/|^plugins\/.*\/migrations\/|\.gen\.ts$|\.d\.ts$/

/**
 * True for a syntax node whose change changes the behaviour: an expression or a statement. A function or a name alone
 * is not sufficient.
 */
const isExecutable = ({ type }: Node) =>
  !type.startsWith('TS') &&
  (/(?:Call|New|Binary|Logical|Conditional|Unary|Update|Assignment|Await|Member)Expression$/.test(type) ||
    /^(?:Literal|TemplateLiteral|SpreadElement|Property|JSXAttribute|JSXExpressionContainer)$/.test(type) ||
    /^(?:If|For|ForOf|ForIn|While|DoWhile|Return|Throw|Switch|Break|Continue)Statement$|^SwitchCase$/.test(type))

/** Yields the nodes that may be executable. Imports, re-exports and types are skipped. */
function* executableIn(node: Node): Generator<Node> {
  const { type } = node
  if (type.startsWith('Import') && type !== 'ImportExpression') return
  if (type === 'ExportAllDeclaration' || (type === 'ExportNamedDeclaration' && node['source'] !== null)) return
  if (/^TS(?!AsExpression|SatisfiesExpression|NonNullExpression)/.test(type)) return
  if (isExecutable(node)) yield node
  for (const member of Object.values(node))
    for (const one of Array.isArray(member) ? member : [member]) if (isNode(one)) yield* executableIn(one)
}

const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string'

function executableLines(file: string): { place: string; text: string }[] {
  const source = readFileSync(join(repository, file), 'utf8')
  const lines = source.split('\n')
  const program = parseSync(file, source).program as unknown as Node
  const numbers = new Set([...executableIn(program)].map(({ start }) => source.slice(0, start).split('\n').length))
  return [...numbers]
    .map((number) => ({ place: `${file}:${number}`, text: lines[number - 1]?.trim() ?? '' }))
    .filter(({ text }) => /\w/.test(text) && !/\p{Script=Han}/u.test(text))
}

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '20261126' }, count: { type: 'string', default: '90' } },
})
const rank = ({ place, text }: { place: string; text: string }) =>
  createHash('sha256').update(`${values.seed} ${place} ${text}`).digest('hex')
const lines = sources
  .flatMap((pattern) => globSync(pattern, { cwd: repository, exclude: (path) => path.endsWith('node_modules') }))
  .filter((file) => !omitted.test(file))
  .flatMap(executableLines)
console.log(`${lines.length} lines, --seed ${values.seed}`)
for (const { place, text } of lines.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, Number(values.count)))
  console.log(`${place}  ${text}`)
