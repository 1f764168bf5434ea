/** Settings that were changed while the product ran, and starts that do not come about on them. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PlinthError, SettingsTrial, StartRefusedError } from '@plinth/kernel'
import { manualClock } from '@plinth/kernel/testing'
import t, { type Test } from 'tap'
import { startOnTrial } from '../src/cli/trial-start.ts'

const patienceMs = 120_000
const unreachable = new PlinthError('PLINTH_START_FAILED', 'Plugin "database" failed', 'Mend it', {
  cause: new PlinthError('ACME_UNREACHABLE', 'no server at 127.0.0.1:1', 'Start it'),
})

async function trialOf(t: Test, before: string | null = 'HOST=old\nPASSWORD=s3cret\n') {
  const root = t.testdir({})
  const file = join(root, '.env')
  if (before !== null) writeFileSync(file, before)
  const trial = new SettingsTrial(root)
  await trial.begin(file, { patienceMs, about: 'connection' })
  writeFileSync(file, 'HOST=new\n')
  const record = join(root, 'data', 'settings-trial.json')
  const clock = manualClock()
  const said: string[] = []
  const stop = new AbortController()
  const host = () => /HOST=(\w+)/.exec(existsSync(file) ? readFileSync(file, 'utf8') : 'HOST=none')?.[1] ?? ''
  const tries: string[] = []
  const run = (start: (signal: AbortSignal) => Promise<string>) =>
    startOnTrial({
      ...{ trial, clock, signal: stop.signal, progress: (text: string) => said.push(text) },
      start: (signal) => {
        tries.push(`${clock.monotonic()} ${host()}`)
        return start(signal)
      },
    })
  /** Moves time on once somebody waits for that; files are read in between. */
  const pass = async (ms: number) => {
    while (clock.sleepers === 0) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(ms)
  }
  return { trial, file, record, said, stop, host, run, tries, pass }
}

t.test('a start that succeeds ends the trial, and nothing of the old settings stays', async (t) => {
  const { trial, record, run, tries } = await trialOf(t)
  t.equal(statSync(record).mode & 0o777, 0o600)
  t.equal(statSync(join(record, '..')).mode & 0o777, 0o700)
  t.match(readFileSync(record, 'utf8'), 's3cret')
  t.equal(await run(async () => 'up'), 'up')
  t.notOk(existsSync(record))
  t.same(tries, ['0 new'])
  t.equal(await trial.takeReturned(), undefined)
  t.equal(await run(async () => 'up'), 'up', 'without a trial a start is a start')
  await t.rejects(
    run(() => Promise.reject(unreachable)),
    { code: 'PLINTH_START_FAILED' },
    'and fails at once',
  )
})

t.test('starts that fail are tried again after growing pauses, then the old settings count again', async (t) => {
  const { trial, record, pass, run, tries, host, file, said } = await trialOf(t)
  const up = run(async () => {
    if (host() === 'new') throw unreachable
    return 'up on old'
  })
  await pass(patienceMs)
  t.equal(await up, 'up on old')
  t.same(tries, [
    ...['0 new', '1000 new', '3000 new', '7000 new', '15000 new', '30000 new', '45000 new', '60000 new'],
    ...['75000 new', '90000 new', '105000 new', '120000 new', '120000 old'],
  ])
  t.match(said.at(-1), /goes back to its previous settings.*Plugin "database" failed/)
  t.equal(readFileSync(file, 'utf8'), 'HOST=old\nPASSWORD=s3cret\n')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.notMatch(readFileSync(record, 'utf8'), 's3cret', 'no copy of the old secrets stays')
  const why = { about: 'connection', code: 'ACME_UNREACHABLE', reason: 'no server at 127.0.0.1:1' }
  t.same(await trial.takeReturned(), why)
  t.equal(await trial.takeReturned(), undefined, 'it is told once')
})

t.test('a start that hangs ends with the trial, settings that are refused end it at once', async (t) => {
  const hanging = await trialOf(t)
  const up = hanging.run((signal) =>
    hanging.host() === 'new'
      ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      : Promise.resolve('up on old'),
  )
  await hanging.pass(patienceMs)
  t.equal(await up, 'up on old')
  t.match(await hanging.trial.takeReturned(), { reason: /time of the trial is over/ })

  const refused = await trialOf(t, null)
  const answer = await refused.run(async () => {
    if (refused.host() === 'new') throw new StartRefusedError([])
    return 'up without a file'
  })
  t.equal(answer, 'up without a file')
  t.notOk(existsSync(refused.file), 'there was none')
})

t.test('who is told to stop stops, and the trial goes on with the next start', async (t) => {
  const { trial, pass, run, stop, host } = await trialOf(t)
  const ended = run(() => Promise.reject(unreachable))
  await pass(500)
  stop.abort(new Error('SIGTERM received'))
  await t.rejects(ended)
  t.equal(host(), 'new')
  t.equal(await trial.patienceMs(), patienceMs)
})

t.test('settings that change again keep the ones that the product ran on', async (t) => {
  const { trial, file, host } = await trialOf(t)
  await trial.begin(file, { patienceMs: 5000, about: 'second' })
  writeFileSync(file, 'HOST=newer\n')
  t.equal(await trial.takeReturned(), undefined)
  await trial.giveBack({ code: '', reason: 'x' })
  t.equal(host(), 'old')
  t.match(await trial.takeReturned(), { about: 'second' })
})
