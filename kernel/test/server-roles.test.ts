/** Tests that commands set up the plugins that load only in a server, without listening. */
import { join } from 'node:path'
import { programEnvironment } from '@plinth/dev/testing'
import t from 'tap'
import { runProgram } from '../src/cli/program.ts'

/** For each fault: the members of the plugin, and the code that `start` reports too. */
const faults = [
  ['setup throws', "setup() { throw new Error('no till') }", 'PLINTH_START_FAILED'],
  [
    'a ready hook throws',
    "setup({ onReady }) { onReady(() => { throw new Error('no till') }) }",
    'PLINTH_START_FAILED',
  ],
  ['setup never ends', 'setupDeadlineMs: 200, setup: () => new Promise(() => {})', 'PLINTH_DEADLINE_PASSED'],
] as const
const productFile = (members: string) => `
import { definePlugin, defineProduct } from '@plinth/kernel'
const plugin = definePlugin({ id: 'acme.w', version: '1.0.0', kernel: '^1.0.0', ${members} })
export default defineProduct({ name: 'roles', plugins: [plugin] })
`

async function plinth(file: string, ...words: string[]) {
  let stdout = ''
  const code = await runProgram(['--product', file, ...words], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: () => {} },
    environment: programEnvironment(),
    directory: join(file, '..'),
  })
  return { code, stdout }
}

t.test('K-018 doctor finds the errors of plugins that load only in a server', async (t) => {
  for (const role of ['web', 'worker']) {
    for (const [fault, members, expected] of faults) {
      await t.test(`role ${role}: ${fault}`, async (t) => {
        const directory = t.testdir({ 'plinth.config.ts': productFile(`roles: ['${role}'], ${members}`) })
        const { code, stdout } = await plinth(join(directory, 'plinth.config.ts'), 'doctor', '--json')
        const { findings } = JSON.parse(stdout)
        const failed = findings.filter(({ outcome }: { outcome: string }) => outcome === 'failed')
        t.equal(code, 1)
        t.strictSame(
          failed.map(({ check, code }: { check: string; code: string }) => [check, code]),
          [['set-up', expected]],
        )
        t.match(failed[0]?.detail, /Plugin "acme\.w"/)
      })
    }
  }
})

t.test('a command sets up the plugins of all roles, and they see the role of the command', async (t) => {
  const members = `roles: ['web', 'worker'], setup({ roles }) { if ([...roles].join() !== 'cli') throw new Error([...roles].join()) }`
  const directory = t.testdir({ 'plinth.config.ts': productFile(members) })
  const { code, stdout } = await plinth(join(directory, 'plinth.config.ts'), 'doctor', '--json')
  t.strictSame([code, JSON.parse(stdout).healthy], [0, true])
})
