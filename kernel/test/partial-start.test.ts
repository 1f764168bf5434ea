/** Starts that fail because of a stored value, and the commands that still work. */
import { join } from 'node:path'
import { assertMembers } from '@plinth/dev/testing'
import t from 'tap'
import { runProgram } from '../src/cli/program.ts'

const fixture = join(import.meta.dirname, 'fixtures', 'kept-down.config.ts')

async function plinth(...words: string[]) {
  let [stdout, stderr] = ['', '']
  const code = await runProgram(['--product', fixture, ...words], {
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
    environment: { PLATFORM_LOG_LEVEL: 'silent' },
    directory: import.meta.dirname,
  })
  return { code, stdout, stderr }
}

t.test('a start that fails names the stored values that its plugin uses, and the command that helps', async (t) => {
  const start = await plinth('start', '--no-supervisor')
  t.equal(start.code, 1)
  t.match(
    start.stderr,
    /^PLINTH_START_FAILED: Plugin "desk" failed in setup: plaid is no colour\. It runs on the row 1; row 2\. To go on without: `plinth config reset platform\.desk\.colour platform\.desk\.height`, which works now\.\nFix: Correct/,
  )
  const named = await plinth('start', '--no-supervisor', '--set', 'platform.desk.polite=true')
  t.match(named.stderr, /platform\.desk\.colour is no colour\. It runs on the row 1\. .*reset platform\.desk\.colour`/)
  t.notMatch(named.stderr, 'row 2')
  const other = await plinth('start', '--no-supervisor', '--set', 'platform.desk.colour=green')
  t.match(
    other.stderr,
    /no shelf without a desk lamp\. It runs on the row 2\. /,
    'without a stored value of its own, that of a plugin that it uses may be why',
  )
  const without = ['platform.desk.colour=green', 'platform.desk.height=70'].flatMap((value) => ['--set', value])
  t.match((await plinth('start', '--no-supervisor', ...without)).stderr, /no shelf without a desk lamp\.\nFix: Correct/)
})

t.test('a command sets up the plugins that it needs, and runs although another plugin fails', async (t) => {
  t.match(await plinth('centre', 'needed'), { code: 0, stdout: 'up: centre\n', stderr: '' })
  const possible = await plinth('centre', 'possible')
  t.match(possible, { code: 0, stdout: 'up: centre, stool\n' })
  t.equal(possible.stderr.split('failed in setup').length, 3, 'the desk and the shelf are reported, once each')
  t.match(possible.stderr, /Plugin "desk" failed in setup: plaid is no colour\..*config reset platform\.desk\.colour/)
  t.match(await plinth('centre', 'all'), { code: 1, stdout: '', stderr: /Plugin "desk" failed/ })
  t.match(
    await plinth('drawer', 'needed'),
    { code: 1, stderr: /Plugin "desk" failed/ },
    'what requires the plugin that fails fails',
  )
  t.match(await plinth('stool', 'needed'), { code: 0, stdout: 'up: centre, stool\n', stderr: /Plugin "desk" failed/ })
})

t.test('a plugin that could not be set up rejects new values with the reason', async (t) => {
  const requested = await plinth('centre', 'ask', 'platform.desk.colour')
  t.match(JSON.parse(requested.stdout), {
    outcome: /^refused$/,
    reason: /^it cannot be asked: Plugin "desk" failed in setup: plaid is no colour/,
  })
})

t.test('config list and doctor report as much as they can read', async (t) => {
  const { code, stdout, stderr } = await plinth('config', 'get', 'platform.desk.colour')
  t.match({ code, stdout, stderr }, { code: 0, stdout: 'plaid\n', stderr: '' })
  const doctor = await plinth('doctor', '--json')
  t.equal(doctor.code, 1)
  assertMembers(
    t,
    JSON.parse(doctor.stdout).findings.filter(({ outcome }: { outcome: string }) => outcome === 'failed'),
    [
      { check: 'set-up', detail: /Plugin "desk" failed.*config reset platform\.desk\.colour/ },
      { check: 'set-up', detail: /Plugin "shelf" failed/ },
      { check: 'row 1', detail: /Plugin "desk" failed/ },
      { check: 'row 2', detail: /Plugin "desk" failed/ },
    ],
  )
  t.ok(JSON.parse(doctor.stdout).findings.some(({ check }: { check: string }) => check === 'health of stool'))
})
