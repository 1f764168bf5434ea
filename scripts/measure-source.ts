/**
 * Counts files, lines, casts and repeated blocks of the sources, to compare two versions: `node
 * scripts/measure-source.ts [directory of a checkout]`, with `--json` for another program. With `--budget`, compares the
 * lines with `line-budget.json`, and fails if a package has more, or so few that its budget is out of date.
 *
 * Blank lines and comments are not counted. A repeated block is a sequence of six lines or more that also occurs
 * elsewhere, ignoring indentation.
 */
import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { parse } from 'acorn'

const workspaces = ['config-schema', 'dev', 'kernel', 'migrations', 'plugins/*']
/** Lines by which a budget may exceed its package. */
const maxSlack = 100
const minBlockLines = 6

interface SourceFile {
  readonly workspace: string
  readonly path: string
  readonly lines: readonly { readonly text: string; readonly number: number }[]
  readonly longestFunction: number
  readonly casts: number
  /** Line numbers. */
  readonly positionalLists: readonly number[]
}

type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string'

function* nodesOf(node: Node): Generator<Node> {
  yield node
  for (const member of Object.values(node)) {
    for (const one of Array.isArray(member) ? member : [member]) if (isNode(one)) yield* nodesOf(one)
  }
}

const functions = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

function read(root: string, workspace: string, path: string): SourceFile {
  const source = readFileSync(join(root, path), 'utf8')
  // Types are replaced by blanks, so positions in the JavaScript are the same as in the TypeScript source.
  const javascript = stripTypeScriptTypes(source, { mode: 'strip' })
  const comments: { start: number; end: number }[] = []
  const tree = parse(javascript, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    onComment: (_isBlock, _text, start, end) => comments.push({ start, end }),
  }) as unknown as Node
  // Comments within types were replaced by blanks in the JavaScript, so they are found by a pattern.
  let code = source
  for (const { start, end } of comments) code = code.slice(0, start) + blank(code.slice(start, end)) + code.slice(end)
  code = code.replaceAll(/^\s*(?:\/\*\*[\s\S]*?\*\/|\/\/.*$)/gm, blank)
  const lines = code
    .split('\n')
    .map((text, index) => ({ text: text.trim(), number: index + 1 }))
    .filter(({ text }) => text !== '')
  const lineOf = (place: number) => source.slice(0, place).split('\n').length
  const lengths = [...nodesOf(tree)]
    .filter(({ type }) => functions.has(type))
    .map(({ start, end }) => lineOf(end) - lineOf(start) + 1)
  return {
    workspace,
    path,
    lines,
    longestFunction: Math.max(0, ...lengths),
    casts: castsIn(code, javascript),
    positionalLists: path.includes('/migrations/') ? [] : positionalLists(tree).map(({ start }) => lineOf(start)),
  }
}

/**
 * Minimum number of column names in a counted list. Such lists are error-prone, because the names must be in the same
 * order as in another list.
 */
const minColumns = 6
const columnName = /^(?:[a-z]\w*\.)?[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/
const isColumns = (names: readonly string[]) =>
  names.length >= minColumns && names.every((name) => columnName.test(name)) && names.some((name) => name.includes('_'))
const namesIn = (list: string) => list.split(',').map((name) => name.trim())

/** Finds lists of column names: in an array, in an `insert`, or between `select` and `from`. */
function positionalLists(tree: Node): readonly Node[] {
  const nested = new Set<unknown>()
  return [...nodesOf(tree)].filter((node) => {
    if (node.type === 'ArrayExpression') {
      const elements = flattened(node)
      for (const element of elements) nested.add(element)
      for (const inner of nodesOf(node)) if (inner !== node) nested.add(inner)
      return !nested.has(node) && isColumns(elements.map((element) => String(element['value'] ?? '')))
    }
    return textsOf(node).some((text) => {
      const lists = [...text.matchAll(/insert into \w+\s*\(([^()]*)\)|\bselect\s+([\w\s.,]+?)\s+from\b/g)]
      return lists.some(([, inserted, selected]) => isColumns(namesIn(inserted ?? selected ?? '')))
    })
  })
}

/** Returns the elements of an array, including those of arrays that are spread into it. */
function flattened(array: Node): readonly Node[] {
  return (array['elements'] as (Node | null)[]).flatMap((element) => {
    const spread = element?.type === 'SpreadElement' ? (element['argument'] as Node) : undefined
    return spread?.type === 'ArrayExpression' ? flattened(spread) : [element ?? array]
  })
}

function textsOf(node: Node): readonly string[] {
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? [node['value']] : []
  if (node.type !== 'TemplateLiteral') return []
  const quasis = node['quasis'] as { readonly value: { readonly cooked: string } }[]
  return [quasis.map(({ value }) => value.cooked).join('x')]
}

/**
 * Counts type assertions with `as`. The word also occurs in string literals, in SQL, in mapped types and in renamed
 * imports.
 */
const castsIn = (code: string, javascript: string) => {
  const written = code
    .replaceAll(/^(?:import|export) [^;'"]*?from '.*'$/gm, blank)
    .replaceAll(/\[\w+ in keyof [^\]]+ as /g, blank)
  const places = [...written.matchAll(/\sas (?!const\b)(?=[\w({[])/g)]
  return places.filter(({ index }) => javascript.slice(index, index + 3).trim() === '').length
}

const blank = (text: string) => text.replaceAll(/[^\n]/g, ' ')

/** Returns the blocks that occur more than once, each with the positions of its first line. */
function repeatedBlocks(files: readonly SourceFile[]): string[][] {
  const starts = new Map<string, { file: SourceFile; index: number }[]>()
  for (const file of files) {
    for (let index = 0; index + minBlockLines <= file.lines.length; index++) {
      const text = file.lines
        .slice(index, index + minBlockLines)
        .map((line) => line.text)
        .join('\n')
      starts.set(text, [...(starts.get(text) ?? []), { file, index }])
    }
  }
  const isRepeated = (text: string | undefined) => (starts.get(text ?? '')?.length ?? 0) > 1
  const blocks: string[][] = []
  for (const places of starts.values()) {
    if (places.length < 2) continue
    const [{ file, index }] = places as [{ file: SourceFile; index: number }]
    const before = file.lines
      .slice(index - 1, index - 1 + minBlockLines)
      .map((line) => line.text)
      .join('\n')
    // This block is the rest of a block that was found one line earlier.
    if (index > 0 && isRepeated(before)) continue
    blocks.push(places.map((place) => `${place.file.path}:${place.file.lines[place.index]?.number}`))
  }
  return blocks
}

const root = resolve(process.argv.slice(2).find((word) => !word.startsWith('--')) ?? '.')
const files = globSync(workspaces, { cwd: root })
  .sort()
  .flatMap((workspace) =>
    globSync(`${workspace}/src/**/*.ts`, { cwd: root })
      .filter((path) => !path.endsWith('.d.ts'))
      .sort()
      .map((path) => read(root, workspace, path)),
  )
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

const byWorkspace = [...Map.groupBy(files, ({ workspace }) => workspace)].map(([workspace, own]) => ({
  workspace,
  lines: sum(own.map(({ lines }) => lines.length)),
  files: own.length,
  'files in the largest folder': Math.max(
    ...[...Map.groupBy(own, ({ path }) => dirname(path)).values()].map((folder) => folder.length),
  ),
  'longest function': Math.max(...own.map(({ longestFunction }) => longestFunction)),
  casts: sum(own.map(({ casts }) => casts)),
  'positional lists': sum(own.map(({ positionalLists }) => positionalLists.length)),
}))
const byFolder = [...Map.groupBy(files, ({ path }) => dirname(path))].map(([folder, own]) => ({
  folder,
  lines: sum(own.map(({ lines }) => lines.length)),
}))
const blocks = repeatedBlocks(files)
const largest = (count: number) => [...files].sort((a, b) => b.longestFunction - a.longestFunction).slice(0, count)

/** Returns the lines by package, of the browser files of all packages, and of everything but `dev`. */
function measuredLines(): Readonly<Record<string, number>> {
  const packages = Object.fromEntries(byWorkspace.map(({ workspace, lines }) => [workspace, lines]))
  const browser = globSync('plugins/*/web/**/*.{ts,tsx}', { cwd: root, exclude: ['**/node_modules/**'] }).map(
    (path) => readFileSync(join(root, path), 'utf8').match(/^\s*(?!\/\/|\/?\*|\s).+$/gm)?.length ?? 0,
  )
  const { dev = 0 } = packages
  return { ...packages, 'browser files': sum(browser), 'all but dev': sum(Object.values(packages)) - dev }
}

/** Returns the packages whose lines differ from their budget. */
function budgetProblems(
  lines: Readonly<Record<string, number>>,
  budget: Readonly<Record<string, number>>,
): readonly string[] {
  return [...new Set([...Object.keys(lines), ...Object.keys(budget)])].flatMap((name) => {
    const [actual = 0, allowed = 0] = [lines[name], budget[name]]
    if (actual > allowed) return [`${name}: ${actual} lines, budget ${allowed}. Remove lines, or raise the budget.`]
    return actual < allowed - maxSlack ? [`${name}: ${actual} lines, budget ${allowed}. Lower the budget.`] : []
  })
}

if (process.argv.includes('--budget')) {
  const budget = JSON.parse(readFileSync(join(root, 'scripts/line-budget.json'), 'utf8'))
  const problems = budgetProblems(measuredLines(), budget)
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
} else if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ byWorkspace, byFolder, blocks }, null, 2))
} else {
  console.table(byWorkspace)
  console.log(`${sum(byWorkspace.map(({ lines }) => lines))} lines in ${files.length} files`)
  console.log(`${sum(byWorkspace.map((one) => one.casts))} casts`)
  const lists = files.flatMap(({ path, positionalLists }) => positionalLists.map((line) => `${path}:${line}`))
  console.log(`${lists.length} positional lists of ${minColumns} columns or more`)
  for (const place of lists) console.log(`  ${place}`)
  console.log(`${blocks.length} repeated blocks of ${minBlockLines} lines or more`)
  for (const places of blocks) console.log(`  ${places.join('  ')}`)
  console.log('longest functions')
  for (const { path, longestFunction } of largest(15)) console.log(`  ${longestFunction} lines  ${path}`)
}
