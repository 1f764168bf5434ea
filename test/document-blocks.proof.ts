/**
 * Tests the blocks in the documents: each block of code must compile, each JSON block must parse, and each command must
 * be run by a test or have a reason why not.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { blocksIn, blocksRunBy, type DocumentBlock, documents } from './fixtures/document-blocks.ts'

const root = join(import.meta.dirname, '..')
const blocks = documents.flatMap(blocksIn)
const ofLanguage = (language: string) => blocks.filter((block) => block.language === language)
const placeOf = ({ page, heading }: DocumentBlock) => `${page}, ${heading}`

/** Languages that this test checks, then those that need no check. */
const languages = ['ts', 'sh', 'json', 'text', 'mermaid', 'html', 'js', 'css', 'http', 'python']

t.test('each block names a language that this test checks, or that needs no check', async (t) => {
  t.ok(documents.length > 70)
  for (const block of blocks) {
    t.ok(languages.includes(block.language), `${placeOf(block)}: "${block.language}"`)
  }
})

t.test('each block of commands is run by a test, or has a reason why not', async (t) => {
  const commands = ofLanguage('sh')
  t.ok(commands.length > 70)
  for (const { page, heading, test, reason } of commands) {
    const place = `${page}, ${heading}`
    if (test === undefined) t.match(reason, /^(?:needs|changes|is) /, place)
    else t.match(readFileSync(join(root, test), 'utf8'), /\bblocks(?:In|RunBy)\(/, `${place}: ${test} reads the page`)
  }
  const run = commands.filter(({ test }) => test !== undefined).length
  t.comment(
    `${commands.length} of ${commands.length} blocks of commands: ${run} run, ${commands.length - run} with a reason`,
  )
})

t.test('the commands that this test runs', async (t) => {
  const [count, ...others] = blocksRunBy('test/document-blocks.proof.ts')
  t.equal(others.length, 0)
  const { stdout } = spawnSync('bash', ['-c', count?.text ?? ''], { cwd: join(root, 'kernel'), encoding: 'utf8' })
  t.ok(Number(stdout) > 500 && Number(stdout) <= 1450, `${stdout.trim()} lines of the kernel`)
})

t.test('each JSON block parses', async (t) => {
  const documents = ofLanguage('json')
  for (const block of documents) t.doesNotThrow(() => JSON.parse(block.text), placeOf(block))
  t.comment(`${documents.length} of ${documents.length} JSON blocks`)
})

/**
 * True for a page of the tutorial. Its pages replace files of earlier pages, so the test of the tutorial compiles them
 * instead, at the end of each page.
 */
const isOfTutorial = ({ page }: DocumentBlock) => page.startsWith('docs/tutorial/')

/** Writes the blocks of each page to a folder, so that blocks can import each other by file name. */
function writeBlocks(folder: string): Map<string, DocumentBlock> {
  const files = new Map<string, DocumentBlock>()
  for (const [index, block] of blocks.entries()) {
    const isCode = block.language === 'ts'
    if (isOfTutorial(block)) continue
    if (!isCode && (block.language !== 'json' || block.file === undefined)) continue
    const file = join(block.page.replaceAll(/[/.]/g, '_'), block.file ?? `block-${index}.ts`)
    if (files.has(file)) throw new Error(`${placeOf(block)}: another block of the page has the name ${block.file}`)
    files.set(file, block)
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), isCode ? `${block.text}\nexport {}\n` : block.text)
  }
  return files
}

/** Runs the compiler on all files of a folder. Returns the errors by file. */
function compile(folder: string): Map<string, string[]> {
  const options = { noEmit: true, noUnusedLocals: false }
  const include = [
    '**/*.ts',
    join(root, 'plugins/*/src/operations.gen.ts'),
    join(root, 'plugins/*/src/*.d.ts'),
    join(root, 'examples/*/operations.gen.ts'),
    join(root, 'examples/*/couriers/operations.gen.ts'),
  ]
  const config = { extends: join(root, 'tsconfig.base.json'), compilerOptions: options, include }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  // The compiler runs without NODE_OPTIONS. Otherwise tap would load itself into the process, and the compiler could
  // not start.
  const words = [
    '-u',
    'NODE_OPTIONS',
    join(root, 'node_modules/.bin/tsc'),
    '-p',
    folder,
    '--pretty',
    'false',
    '--singleThreaded',
  ]
  const { stdout, status } = spawnSync('env', words, { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  const errors = new Map<string, string[]>()
  for (const line of stdout.split('\n')) {
    const [, file, text = line] = /^(\S+?)\((.+)$/.exec(line) ?? []
    if (file !== undefined) errors.set(file, [...(errors.get(file) ?? []), text])
  }
  if (status !== 0 && errors.size === 0) throw new Error(stdout)
  return errors
}

t.test('each block of TypeScript compiles as it is', { timeout: 300_000 }, async (t) => {
  const folder = t.testdir()
  const files = writeBlocks(folder)
  const errors = compile(folder)
  for (const [file, block] of files) t.same(errors.get(file) ?? [], [], `${placeOf(block)} (${file})`)
  t.same(
    [...errors.keys()].filter((file) => !files.has(file)),
    [],
  )
  const code = ofLanguage('ts')
  t.ok(code.length > 70)
  t.comment(`${code.length} of ${code.length} blocks of TypeScript`)
})
