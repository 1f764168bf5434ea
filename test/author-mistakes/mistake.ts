import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { http } from '@plinth/http'
import {
  definePlugin,
  defineProduct,
  type ExtensionPoint,
  isPlinthError,
  type JsonValue,
  loadProduct,
  type Plugin,
  prepareProduct,
  type RunningProduct,
  reasonOf,
} from '@plinth/kernel'
import { startForTest } from '@plinth/kernel/testing'

/** The plugin with the mistake. */
export const author = 'acme.shop'

/** A typical mistake of an author who writes plain JavaScript, and the report that the author needs. */
export interface Mistake {
  readonly id: string
  /** What the author did. */
  readonly mistake: string
  /** What the product lists. Anything: it is plain JavaScript. Files are a product of their own, with `plinth.config.js`. */
  readonly product: (() => readonly unknown[]) | { readonly files: Readonly<Record<string, string>> }
  readonly config?: Readonly<Record<string, JsonValue>>
  /** Words after `plinth` that run the product in a process of its own, if the mistake is only seen there. */
  readonly command?: readonly string[]
  /** What runs when the product has started, if the mistake is only seen then. */
  readonly use?: (running: RunningProduct) => Promise<unknown>
  readonly code: string
  /** Parts of the report. The plugin is `author` when absent; null where no plugin exists yet. */
  readonly plugin?: string | null
  readonly place: string
  readonly cause: string
  readonly fix: string
  /** Words that the report must not contain: errors that only follow from the mistake. */
  readonly absent?: string
}

/** One coded report, as an author reads it. */
interface Report {
  readonly code: string
  readonly text: string
}

/** A plugin as plain JavaScript declares it, without types. */
export const acme = (members: object): Plugin =>
  definePlugin({ id: author, version: '1.0.0', kernel: '^1.0.0', ...members } as never)

/** A mistake in a member of the declaration. */
export const declared = (members: () => object) => () => [acme(members())]

/** A mistake in a contribution to a point whose owner is loaded. */
export const contributed = (point: ExtensionPoint<never>, name: unknown, implementation: unknown) => () => {
  const owner = definePlugin({ id: 'owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [point] } as never)
  const contributor = acme({
    contributes: [point],
    setup: (context: { contribute: (...parts: readonly unknown[]) => void }) => {
      context.contribute(point, name, implementation)
    },
  })
  return point.id.startsWith('kernel.') ? [contributor] : [owner, contributor]
}

/** Everything that is reported about a mistake: problems and warnings of the plan, or the error of the start with its causes. */
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
    const text = chain.map((one) => (isPlinthError(one) ? `${one.message}\nFix: ${one.fix}` : reasonOf(one))).join('\n')
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

/** What a command prints, as reports with the codes in it. */
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

/** Calls a route and throws the report of the server when the response is not a success. */
export const request = (url: string) => async (running: RunningProduct) => {
  const { code, message, data } = (await running.service(http).inject({ url })).json()
  if (code !== '200') throw Object.assign(new Error(message), { code: data.reason, fix: message })
}
