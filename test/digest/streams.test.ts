/** Compares random streams of items on two instances with a model. The proof runs longer ones, with kills. */
import { onDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { startInstance } from './instance.ts'
import { runStream, type Worker } from './streams.ts'

const startMs = Date.UTC(2027, 2, 1, 9)

onDatabase(t, 'every item is in exactly one digest, in order', async (t, at) => {
  const instances = [await startInstance(at.config, startMs), await startInstance(at.config, startMs)] as const
  t.teardown(() => Promise.all(instances.map(({ stop }) => stop())))
  const [{ db, preferences }] = instances
  const workerOf = ({ run }: (typeof instances)[number]): Worker => ({
    async run(command) {
      await run(command)
      return true
    },
  })
  const pair = [workerOf(instances[0]), workerOf(instances[1])] as const
  const stream = { db, preferences, workers: async () => pair, steps: 60, seed: 20_270_301, startMs }
  const { items, digests } = await runStream(t, stream)
  t.ok(items > 100 && digests > 20, `${items} items in ${digests} digests`)
})
