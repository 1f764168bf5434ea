/** Checks that the Node.js versions in the package manifests are the versions that the program accepts. */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { programEnvironment } from '@plinth/dev/testing'
import t from 'tap'
import { oldNodeVersion } from '../kernel/bin/node-version.js'
import { runProgram } from '../kernel/src/cli/program.ts'
import { kernelError } from '../kernel/src/errors/kernel-errors.ts'

const root = join(import.meta.dirname, '..')
const program = join(root, 'kernel', 'bin', 'plinth.js')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const enginesOf = (file: string): string | undefined => JSON.parse(read(file)).engines?.node
const range = enginesOf('kernel/package.json') ?? ''
const needed = range.replace('>=', '')

t.test('every package names the Node.js versions of the kernel, and the guides do too', async (t) => {
  const manifests = globSync('{.,bench,config-schema,create-plinth,dev,kernel,migrations,plugins/*}/package.json', {
    cwd: root,
  })
  t.ok(manifests.length > 30)
  for (const file of manifests) t.equal(enginesOf(file), range, file)
  for (const file of ['README.md', 'kernel/README.md', 'docs/integrator.md', 'docs/operator.md', 'docs/third-party.md'])
    t.ok(read(file).includes(`Node.js ${needed}`), file)
  const pinned: Record<string, string> = JSON.parse(read('package.json')).optionalDependencies
  for (const [name, version] of Object.entries(pinned)) {
    if (name.startsWith('node-')) t.equal(oldNodeVersion(version, range), undefined, `${name} is supported`)
  }
})

t.test('a version below the range is old, all others are not', async (t) => {
  const old = ['18.20.8', '20.20.2', '22.23.3', '24.0.0', '24.6.0']
  for (const found of old) t.strictSame(oldNodeVersion(found, '>=24.7'), { needed: '24.7', found })
  for (const found of ['24.7.0', '24.21.0', '25.0.0', '26.1.0-nightly20260101'])
    t.equal(oldNodeVersion(found, '>=24.7'), undefined, found)
  t.strictSame(oldNodeVersion('23.9.0', '>=24'), { needed: '24', found: '23.9.0' })
})

/** Runs the program and returns its exit code and its output. */
function run(node: string, words: readonly string[]) {
  const options = { encoding: 'utf8', env: programEnvironment({ NODE_OPTIONS: '' }), timeout: 300_000 } as const
  const { status, stdout, stderr } = spawnSync(node, words, options)
  return { status, stdout, stderr }
}
const messageFor = (found: string) => kernelError('PLINTH_NODE_VERSION', { needed, found }).message

t.test('the program ends with one sentence and exit code 1 on an old Node.js', async (t) => {
  const pretended = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'22.23.3'}})`
  for (const command of ['start', 'doctor', '--version']) {
    const expected = { status: 1, stdout: '', stderr: `${messageFor('22.23.3')}\n` }
    t.strictSame(run(process.execPath, ['--import', pretended, program, command]), expected)
  }
  const { status, stdout, stderr } = run(process.execPath, ['--import', pretended, program, 'doctor', '--json'])
  t.strictSame([status, stderr], [1, ''])
  t.strictSame(JSON.parse(stdout), { error: { code: 'PLINTH_NODE_VERSION', message: messageFor('22.23.3') } })
})

t.test('the program can be read by the old Node.js of this machine', async (t) => {
  const installed = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'))
  const versions = installed.filter((file) => existsSync(file)).map((file) => [file, run(file, ['-v']).stdout] as const)
  const old = versions.map(([file, version]) => ({ file, found: version.trim().replace('v', '') }))
  const [node] = old.filter(({ found }) => oldNodeVersion(found, range) !== undefined)
  if (node === undefined) {
    t.pass('an older Node.js', { skip: 'no older Node.js is on PATH' })
    return
  }
  t.strictSame(run(node.file, [program, 'start']), { status: 1, stdout: '', stderr: `${messageFor(node.found)}\n` })
})

t.test('doctor reports the version of Node.js, and fails on an old one', async (t) => {
  const directory = t.testdir({
    'plinth.config.ts': `import { defineProduct } from '@plinth/kernel'\nexport default defineProduct({ name: 'x', plugins: [] })`,
  })
  const doctor = async (nodeVersion: string) => {
    let stdout = ''
    const code = await runProgram(['doctor', '--json'], {
      stdout: { write: (text: string) => (stdout += text) },
      stderr: { write: () => {} },
      environment: {},
      directory,
      nodeVersion,
    })
    return { code, finding: JSON.parse(stdout).findings[0] }
  }
  t.strictSame((await doctor('24.7.0')).finding, { check: 'Node.js', outcome: 'ok', detail: `24.7.0, needs ${range}` })
  const { code, finding } = await doctor('24.6.0')
  t.equal(code, 1)
  t.strictSame(finding, {
    check: 'Node.js',
    outcome: 'failed',
    code: 'PLINTH_NODE_VERSION',
    detail: `${messageFor('24.6.0')} Install Node.js ${needed} or later, and start the product with it.`,
  })
})
