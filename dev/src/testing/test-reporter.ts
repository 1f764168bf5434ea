/**
 * Reporter for `node --test`. It reports as `spec` does, but a run without tests fails. Without it, such a run succeeds,
 * for example if the pattern of the files is wrong.
 */
import { Readable } from 'node:stream'
import { spec, type TestEvent } from 'node:test/reporters'

export default async function* testReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let count = 0
  async function* counted() {
    for await (const event of events) {
      if (event.type === 'test:pass' || event.type === 'test:fail') count += 1
      yield event
    }
  }
  yield* Readable.from(counted()).pipe(new spec())
  if (count > 0) return
  process.exitCode = 1
  yield '✖ No tests found. Check the patterns of the files and the names of the tests.\n'
}
