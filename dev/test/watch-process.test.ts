import { spawn } from 'node:child_process'
import { rejectsWith, waitForProcessEnd, watchProcess } from '@plinth/dev/testing'
import t, { type Test } from 'tap'

const run = (t: Test, source: string) => {
  const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const
  return watchProcess(t, spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: [...stdio] }))
}

t.test('a wait for a process ends with its output, its messages and its actions', async (t) => {
  const running = run(t, `console.log('up at 4711'); process.send('started'); setInterval(() => {}, 1000)`)
  const [, port] = await running.until(() => /up at (\d+)/.exec(running.output()), 'it says its port')
  t.equal(port, '4711')
  await running.until(() => running.messages.includes('started'), 'it has started')
  t.same(await running.end('SIGTERM'), [null, 'SIGTERM'])
  t.same(await running.end('SIGTERM'), [null, 'SIGTERM'], 'a process that has ended is not waited for')
})

t.test('a wait fails with the output of the process if the process ends first', async (t) => {
  const broken = run(t, `throw new Error('no such port')`)
  const waiting = broken.until(() => broken.messages.includes('started'), 'it has started')
  await rejectsWith(t, waiting, { message: /^The process ended with 1 before: it has started\n[\s\S]*no such port/ })
  t.same(await broken.ended(), [1, null])
  const absent = watchProcess(t, spawn('/nowhere/program'))
  await rejectsWith(t, () => absent.until(() => false, 'it listens'), { message: /it listens\n[\s\S]*ENOENT/ })
})

t.test('the last output of a process is read although the process has ended', async (t) => {
  const brief = run(t, `process.send('done'); console.log('said')`)
  t.same(await brief.ended(), [0, null])
  t.same([brief.messages, brief.output()], [['done'], 'said\n'])
  await brief.until(() => brief.messages.includes('done'), 'it is done')
})

t.test('a command returns its exit code and its output to each stream', async (t) => {
  const source = `console.log('Grüezi'); console.error('broken'); process.exitCode = 3`
  const outcome = await waitForProcessEnd(spawn(process.execPath, ['--input-type=module', '-e', source]))
  t.strictSame(outcome, { code: 3, signal: null, stdout: 'Grüezi\n', stderr: 'broken\n' })
})

t.test('a process that continues is killed when the test ends', async (t) => {
  let child: ReturnType<typeof run>['child'] | undefined
  await t.test('the test', async (t) => {
    const stubborn = run(t, `process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000)`)
    await stubborn.until(() => stubborn.output() === 'up\n', 'it is up')
    child = stubborn.child
  })
  t.equal(child?.signalCode, 'SIGKILL')
})
