import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Call } from './product.ts'

/** A child process that runs the product of `product.ts`. */
export interface ProductProcess {
  readonly url: string
  readonly token: string
  ask(call: Call): Promise<unknown>
  end(): Promise<void>
}

/**
 * Starts the process and waits until it listens.
 * @param keys number of configuration keys in addition to those of the product
 * @throws Error if the process ends before it listens
 */
export async function startProductProcess(
  config: Readonly<Record<string, unknown>>,
  keys = 0,
): Promise<ProductProcess> {
  const child = fork(join(import.meta.dirname, 'product.ts'), [JSON.stringify(config), String(keys)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  const ended = once(child, 'exit')
  const started = await Promise.race([once(child, 'message'), ended.then(() => undefined)])
  if (started === undefined) throw new Error('The product did not start')
  const [{ url, token }] = started as [{ url: string; token: string }]
  let last = 0
  const ask = (call: Call) =>
    new Promise<unknown>((resolve, reject) => {
      const id = ++last
      const fail = () => reject(new Error(`The product ended during ${call.call}`))
      const listen = (message: { id: number; answer?: unknown; failure?: string }) => {
        if (message.id !== id) return
        child.off('message', listen).off('exit', fail)
        if (message.failure === undefined) resolve(message.answer)
        else reject(new Error(message.failure))
      }
      child.on('message', listen).once('exit', fail)
      child.send({ id, ...call })
    })
  const end = async () => {
    if (child.connected) child.disconnect()
    await ended
  }
  return { url, token, ask, end }
}
