import { type Command, startInstance } from './instance.ts'

/** Program of an instance that executes commands of the test until it is killed. */
const { config, startMs } = JSON.parse(process.argv[2] ?? '{}')
const { run } = await startInstance(config, startMs)
process.on('message', ({ id, command }: { readonly id: number; readonly command: Command }) => {
  run(command).then(
    () => process.send?.({ done: id }),
    (error: unknown) => process.send?.({ failed: id, reason: String(error) }),
  )
})
process.send?.('started')
