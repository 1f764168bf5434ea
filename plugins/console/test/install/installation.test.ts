import { assertMembers, type ManualClock, manualClock } from '@plinth/dev/testing'
import t from 'tap'
import { ApiFailure } from '../../web/install/install-api.ts'
import { Installation, type InstallationState } from '../../web/install/installation.ts'
import { progressOf } from '../../web/install/steps/step-progress.ts'
import type { ExecuteResult, ExecutionRecord, InstallStatus, Outcome, Step } from '../../web/install/wire.ts'

const record = (id: number, sessionId: string, stepCode: string, status: Outcome = 'passed'): ExecutionRecord => ({
  id,
  sessionId,
  stepCode,
  status,
  message: `${stepCode} ${status}`,
  occurredAt: new Date(id * 250).toISOString(),
})
const result = (given: Partial<ExecuteResult>): ExecuteResult => ({
  authorized: true,
  passed: true,
  restartRequired: false,
  configWritten: true,
  administratorReady: true,
  locked: true,
  message: 'Installed.',
  failedField: '',
  sessionId: 'new',
  retriedSessionId: '',
  records: [],
  ...given,
})
const open = { installed: false, installAllowed: true, productPath: '/' } as InstallStatus
const installed: InstallStatus = { ...open, installed: true }
const unreachable = () => new ApiFailure('unreachable', '')
const form = { site: { name: 'Northwind' } }

/** An API whose responses a test defines. It records its calls. */
class ScriptedApi {
  readonly asked: string[] = []
  onExecute: () => Promise<ExecuteResult> = async () => result({})
  onRetry: (sessionId: string) => Promise<ExecuteResult> = async () => result({})
  known: readonly ExecutionRecord[] = []
  answerStatus: () => InstallStatus | undefined = () => open

  execute() {
    this.asked.push('execute')
    return this.onExecute()
  }
  retry(sessionId: string) {
    this.asked.push(`retry ${sessionId}`)
    return this.onRetry(sessionId)
  }
  async records() {
    return this.known
  }
  async status() {
    const status = this.answerStatus()
    if (status === undefined) throw unreachable()
    return status
  }
}

function begin() {
  const api = new ScriptedApi()
  const clock = manualClock()
  const installation = new Installation(api, { now: clock.monotonic, sleep: clock.sleep })
  const phases: string[] = []
  installation.subscribe(() => {
    const { phase } = installation.current()
    if (phases.at(-1) !== phase) phases.push(phase)
  })
  return { api, clock, installation, phases }
}

/** Advances the clock until the installation is in a phase. */
async function until(
  installation: Installation,
  clock: ManualClock,
  phase: InstallationState['phase'],
  limitMs: number,
) {
  for (let passed = 0; passed <= limitMs; passed += 1000) {
    if (installation.current().phase === phase) return passed
    await clock.advance(1000)
  }
  throw new Error(`is ${installation.current().phase}, not ${phase}`)
}

t.test('I-132 I-133 the records of the current session are shown while it runs, and no others', async (t) => {
  const { api, clock, installation } = begin()
  const call = Promise.withResolvers<ExecuteResult>()
  api.onExecute = () => call.promise
  api.known = [record(1, 'old', 'security-entry'), record(2, '', 'environment-preflight')]
  const run = installation.run(form)
  await clock.advance(1000)
  t.same(installation.current().records, [])
  // The newest record comes first, as in the list of the server.
  api.known = [record(4, 'new', 'config-validation'), record(3, 'new', 'security-entry'), ...api.known]
  await clock.advance(1000)
  assertMembers(t, installation.current(), { phase: 'running', sessionId: 'new', records: [{ id: 3 }, { id: 4 }] })
  call.resolve(result({ records: [record(3, 'new', 'security-entry')] }))
  await run
  assertMembers(t, installation.current(), { phase: 'finished', message: 'Installed.', records: [{ id: 3 }] })
})

t.test('I-138 a second call during a run starts nothing', async (t) => {
  const { api, clock, installation } = begin()
  const call = Promise.withResolvers<ExecuteResult>()
  api.onExecute = () => call.promise
  const first = installation.run(form)
  await installation.run(form)
  await clock.advance(2000)
  t.same(api.asked, ['execute'])
  call.resolve(result({}))
  await first
})

t.test('I-135 a changed connection: the page waits until the product has restarted, then executes again', async (t) => {
  const { api, clock, installation, phases } = begin()
  api.onExecute = async () =>
    api.asked.length === 1 ? result({ restartRequired: true, locked: false, message: 'Restart.' }) : result({})
  const run = installation.run(form)
  t.ok((await until(installation, clock, 'restarting', 2000)) <= 2000)
  await clock.advance(5000)
  t.same(api.asked, ['execute'], 'the old process is not asked again')
  api.answerStatus = () => undefined
  await clock.advance(4000)
  t.same(api.asked, ['execute'])
  api.answerStatus = () => open
  await clock.advance(3000)
  await run
  t.same(api.asked, ['execute', 'execute'])
  t.same(phases, ['running', 'restarting', 'running', 'finished'])
})

t.test('I-135 a restart that is too quick to be seen is detected by a test', async (t) => {
  const { api, clock, installation } = begin()
  api.onExecute = async () => (api.asked.length === 1 ? result({ restartRequired: true }) : result({}))
  const run = installation.run(form)
  await until(installation, clock, 'finished', 60_000)
  await run
  t.same(api.asked, ['execute', 'execute'])
})

t.test('I-135 a product that does not return is reported with a fix, and is found again on request', async (t) => {
  const { api, clock, installation } = begin()
  api.onExecute = async () => (api.asked.length === 1 ? result({ restartRequired: true }) : result({}))
  api.answerStatus = () => undefined
  const run = installation.run(form)
  const waited = await until(installation, clock, 'overdue', 400_000)
  t.ok(waited >= 300_000, 'five minutes')
  await run
  api.answerStatus = () => open
  const again = installation.wait(form)
  await until(installation, clock, 'finished', 5000)
  await again
})

t.test('I-135 a product that requests restarts repeatedly is also reported', async (t) => {
  const { api, clock, installation } = begin()
  api.onExecute = async () => result({ restartRequired: true })
  const run = installation.run(form)
  await until(installation, clock, 'overdue', 300_000)
  await run
  t.ok(api.asked.length <= 4, `${api.asked.length} calls`)
})

t.test(
  'I-140 I-141 I-144 a new attempt refers to the failed session, or is a first attempt if no session is known',
  async (t) => {
    const { api, installation } = begin()
    const failed = record(2, 'first', 'database-migration', 'failed')
    api.onExecute = async () => result({ passed: false, message: 'No.', sessionId: 'first', records: [failed] })
    await installation.run(form)
    assertMembers(t, installation.current(), {
      phase: 'failed',
      message: 'No.',
      sessionId: 'first',
      records: [failed],
    })
    api.onRetry = async () => result({ passed: false, sessionId: 'second', records: [failed] })
    await installation.run(form)
    api.onRetry = async () => {
      throw new ApiFailure('missing', 'no such session')
    }
    api.onExecute = async () => result({})
    await installation.run(form)
    t.same(api.asked, ['execute', 'retry first', 'retry second', 'execute'])
    t.equal(installation.current().phase, 'finished')
  },
)

t.test(
  'I-139 a rejected or limited call shows the reason; a closed installer is distinguished from a complete installation',
  async (t) => {
    const { api, clock, installation } = begin()
    api.onExecute = async () => {
      throw new ApiFailure('rejected', 'Another installation is running.')
    }
    await installation.run(form)
    t.match(installation.current(), { phase: 'failed', message: 'Another installation is running.' })
    api.onExecute = async () => {
      throw new ApiFailure('refused', '')
    }
    await installation.run(form)
    t.equal(installation.current().phase, 'refused')
    api.answerStatus = () => installed
    const run = installation.run(form)
    await until(installation, clock, 'finished', 10_000)
    await run
  },
)

t.test('I-139 a lost response: the result is read from the records and the status', async (t) => {
  const lost = async (): Promise<ExecuteResult> => {
    throw unreachable()
  }
  t.test('it continued and finished', async (t) => {
    const { api, clock, installation } = begin()
    api.onExecute = lost
    const run = installation.run(form)
    await clock.advance(5000)
    api.known = [record(1, 'new', 'security-entry')]
    await clock.advance(15_000)
    assertMembers(t, installation.current(), { phase: 'running', records: [{ id: 1 }] })
    api.answerStatus = () => installed
    await until(installation, clock, 'finished', 10_000)
    await run
    t.equal(installation.current().message, '', 'nobody has said how')
  })
  t.test('it failed', async (t) => {
    const { api, clock, installation } = begin()
    api.onExecute = lost
    const run = installation.run(form)
    api.known = [record(1, 'new', 'security-entry'), record(2, 'new', 'config-write', 'failed')]
    t.ok((await until(installation, clock, 'failed', 5000)) <= 5000)
    await run
  })
  t.test('nothing happens afterwards', async (t) => {
    const { api, clock, installation } = begin()
    api.onExecute = lost
    api.answerStatus = () => undefined
    const run = installation.run(form)
    const waited = await until(installation, clock, 'failed', 60_000)
    t.ok(waited >= 20_000)
    await run
  })
  t.test(
    'one response that the product is installed is not enough: a product without its database sends it too',
    async (t) => {
      const { api, clock, installation } = begin()
      api.onExecute = lost
      let asked = 0
      api.answerStatus = () => (asked++ % 2 === 0 ? installed : open)
      const run = installation.run(form)
      t.ok((await until(installation, clock, 'failed', 60_000)) >= 20_000)
      await run
    },
  )
})

t.test('I-131 I-199 the progress of each step is computed from the records', async (t) => {
  const step = (code: string): Step => ({
    sequence: 1,
    code,
    name: code,
    description: '',
    status: 'pending',
    message: '',
    required: true,
    retryable: true,
  })
  const steps = ['entry', 'write', 'migrate', 'lock'].map(step)
  const records = [record(4, 's', 'entry'), record(6, 's', 'write', 'warning'), record(10, 's', 'write')]
  assertMembers(t, progressOf(steps, records, 'running'), [
    { state: 'passed', durationMs: undefined },
    { state: 'warning', durationMs: 1500, messages: ['write warning', 'write passed'] },
    { state: 'running' },
    { state: 'waiting' },
  ])
  const states = progressOf(steps, [], 'running').map(({ state }) => state)
  t.strictSame(states, ['running', 'waiting', 'waiting', 'waiting'])
  const failed = [...records, record(12, 's', 'migrate', 'failed')]
  t.same(
    progressOf(steps, failed, 'failed').map(({ state }) => state),
    ['passed', 'warning', 'failed', 'waiting'],
  )
})
