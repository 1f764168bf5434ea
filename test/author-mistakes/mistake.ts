import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import {
  definePlugin,
  defineProduct,
  type ExtensionPoint,
  errorReason,
  isPlinthError,
  type JsonValue,
  type Plugin,
} from '@plinth/kernel'
import { loadProduct, prepareProduct, type RunningProduct } from '@plinth/kernel/host'

/** Id of the plugin that contains the mistake. */
export const faultyPluginId = 'acme.shop'

/** A typical mistake of an author who writes plain JavaScript, and the expected report. */
export interface Mistake {
  readonly id: string
  /** One sentence that describes the mistake. */
  readonly mistake: string
  /**
   * The plugin list of the product, without types as in plain JavaScript. `files` are the files of a separate product
   * with `plinth.config.js`.
   */
  readonly product: (() => readonly unknown[]) | { readonly files: Readonly<Record<string, string>> }
  readonly config?: Readonly<Record<string, JsonValue>>
  /** Arguments for `plinth` in a child process, if only a command shows the mistake. */
  readonly command?: readonly string[]
  /** Called after the start, if only the running product shows the mistake. */
  readonly use?: (running: RunningProduct) => Promise<unknown>
  readonly code: string
  /**
   * Expected parts of the report. If `plugin` is omitted, it is `faultyPluginId`. It is null if the plugin does not
   * exist yet.
   */
  readonly plugin?: string | null
  readonly place: string
  readonly cause: string
  readonly fix: string
  /** Text that the report must not contain. It belongs to errors that are only consequences of the mistake. */
  readonly absent?: string
}

/** One reported problem in the form in which the author reads it. */
interface Report {
  readonly code: string
  readonly text: string
}

/** Returns a plugin declared as in plain JavaScript, without types. */
export const createAcmePlugin = (members: object): Plugin =>
  definePlugin({ id: faultyPluginId, version: '1.0.0', kernel: '^1.0.0', ...members } as never)

/** Returns a product with a mistake in a member of the declaration. */
export const declareMembers = (members: () => object) => () => [createAcmePlugin(members())]

/** Returns a product with a mistake in a contribution to an extension point of a loaded plugin. */
export const contributeTo = (point: ExtensionPoint<never>, name: unknown, implementation: unknown) => () => {
  const owner = definePlugin({ id: 'owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [point] } as never)
  const contributor = createAcmePlugin({
    contributes: [point],
    setup: (context: { contribute: (...parts: readonly unknown[]) => void }) => {
      context.contribute(point, name, implementation)
    },
  })
  return point.id.startsWith('kernel.') ? [contributor] : [owner, contributor]
}

/** Returns all reports about a mistake: problems and warnings of the plan, or the start error with its causes. */
export async function reportsOf(mistake: Mistake, directory: string): Promise<readonly Report[]> {
  const { product, command, config = {}, use } = mistake
  try {
    if (command !== undefined && typeof product !== 'function')
      return printed(writeFiles(directory, product.files), command)
    const listed = typeof product === 'function' ? product() : await productIn(directory, product.files)
    const sample = defineProduct({ name: 'mistake', plugins: listed as readonly Plugin[], config })
    const { problems, warnings } = prepareProduct(sample, { envFile: false, environment: {} })
    const planned = [...problems, ...warnings].map(({ code, plugin = '', place, message, fix }) => {
      return { code, text: [code, plugin, place, message, `Fix: ${fix}`].join('\n') }
    })
    if (problems.length > 0) return planned
    const running = await startForTest({ ...sample, root: directory })
    try {
      await use?.(running)
    } finally {
      await running.stop('test ended')
    }
    return planned
  } catch (error) {
    const chain = chainOf(error)
    const text = chain
      .map((one) => (isPlinthError(one) ? `${one.message}\nFix: ${one.fix}` : errorReason(one)))
      .join('\n')
    return chain.map((one) => ({ code: isPlinthError(one) ? one.code : 'none', text }))
  }
}

async function productIn(directory: string, files: Readonly<Record<string, string>>): Promise<readonly unknown[]> {
  return (await loadProduct(writeFiles(directory, files))).plugins
}

/** Writes the files of a product and returns the path of the product file. */
function writeFiles(directory: string, files: Readonly<Record<string, string>>): string {
  mkdirSync(directory, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  return join(directory, 'plinth.config.js')
}

const program = join(import.meta.dirname, '../../kernel/bin/plinth.js')

/** Returns the problems in the output of a command. */
function printed(file: string, command: readonly string[]): readonly Report[] {
  const { stdout, stderr } = spawnSync(process.execPath, [program, ...command, '--product', file], {
    encoding: 'utf8',
    timeout: 300_000,
  })
  const text = stdout + stderr
  return [...new Set(text.match(/PLINTH_[A-Z_]+/g))].map((code) => ({ code, text }))
}

function chainOf(error: unknown): unknown[] {
  return error instanceof Error && error.cause !== undefined ? [error, ...chainOf(error.cause)] : [error]
}

/** Calls a route. If the response is an error, the function throws the report of the server. */
export const sendRequest = (url: string) => async (running: RunningProduct) => {
  const { code, message, data } = (await running.service(http).inject({ url })).json()
  if (code !== '200') throw Object.assign(new Error(message), { code: data.reason, fix: message })
}
