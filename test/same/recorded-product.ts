/** Products of a checkout of this repository. They are used only from outside, so that an earlier checkout can be recorded too. */
import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { programEnvironment, waitForProcessEnd } from '@plinth/dev/testing'
import { administrator, type ProductProcess, startProcess } from '../fixtures/product-process.ts'

/** Source of the product file, by name of the product. `root` is the directory of the checkout. */
const sources = {
  quickstart: (root: string) => `
import { defineProduct } from '@plinth/kernel'
import product from '${root}/examples/quickstart/plinth.config.ts'
export default defineProduct(product)
`,
  lite: (root: string) => `
import { defineProduct } from '@plinth/kernel'
import product from '${root}/examples/lite/plinth.config.ts'
export default defineProduct(product)
`,
  mall: () => `
import { defineProduct } from '@plinth/kernel'
import { commerce } from '@plinth/presets/commerce'
import { operations } from '@plinth/presets/operations'
import { platform } from '@plinth/presets/platform'
import quickstartCleanup from '@plinth/quickstart-cleanup'
import mall from '@plinth-example/mall'
export default defineProduct({
  name: 'mall',
  plugins: [...platform, ...operations, ...commerce, quickstartCleanup, mall],
  config: { 'platform.rate-limit.default-store': 'shared-window' },
})
`,
}
export type ProductName = keyof typeof sources
export const productNames = Object.keys(sources) as readonly ProductName[]

export type Settings = Readonly<Record<string, string>>

/** Settings that make a record independent of the host and of time. */
const steady: Settings = {
  'platform.rate-limit.enabled': 'false',
  'platform.iam.password.hash.memory': '1MiB',
  'platform.iam.password.hash.passes': '1',
}

export interface Response {
  readonly status: number
  readonly code: string
  // biome-ignore lint/suspicious/noExplicitAny: responses of all routes
  readonly data: any
  readonly text: string
}

interface CallOptions {
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Calls operations below `/api/v1` as one user. */
export type Call = (method: string, path: string, options?: CallOptions) => Promise<Response>

/** A product in a directory of its own. */
export interface RecordedProduct {
  /** Directory of the product. It contains the product file and the data. */
  readonly directory: string
  /** Runs a command with `--json` and returns its result. */
  run(words: readonly string[], settings?: Settings, input?: string): Promise<unknown>
  /** Evaluates an expression with the plugins of the product, and returns its result. The expression is JavaScript source. */
  evaluate(expression: string): Promise<unknown>
  /** Starts an instance of the role `web`. */
  start(settings: Settings, environment?: Readonly<Record<string, string>>): Promise<ProductProcess>
  /** Stops everything and removes the directory. */
  remove(): Promise<void>
}

/** @param root directory of the checkout, whose packages are installed */
export function prepareRecordedProduct(root: string, name: ProductName): RecordedProduct {
  const directory = mkdtempSync(join(tmpdir(), 'plinth-same-'))
  const file = join(directory, 'plinth.config.ts')
  let count = 0
  const works: (() => unknown)[] = [() => rmSync(directory, { recursive: true, force: true })]
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ name, version: '1.0.0', type: 'module' }))
  writeFileSync(file, sources[name](root))
  /** Runs Node.js and returns its output, which is JSON. A file receives it: a command that ends does not wait for a slow reader. */
  const runNode = async (words: readonly string[], input = ''): Promise<unknown> => {
    count += 1
    const output = join(directory, `output-${count}.json`)
    const stdout = openSync(output, 'w')
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...words], {
      cwd: directory,
      env: programEnvironment(),
      stdio: ['pipe', stdout, 'pipe'],
    })
    closeSync(stdout)
    child.stdin?.end(input)
    const { code, stderr } = await waitForProcessEnd(child)
    const text = readFileSync(output, 'utf8')
    if (code !== 0) throw new Error(`${name}: node ${words.join(' ')} ended with ${code}: ${text}${stderr}`)
    return JSON.parse(text)
  }
  return {
    directory,
    run(words, settings = {}, input = '') {
      const set = Object.entries({ ...steady, ...settings }).flatMap(([key, value]) => ['--set', `${key}=${value}`])
      return runNode([join(root, 'kernel/src/cli/main.ts'), ...words, '--product', file, '--json', ...set], input)
    },
    evaluate: (expression) =>
      runNode([
        '--input-type=module',
        '--eval',
        `import { default as product } from ${JSON.stringify(file)}
        const { plugins } = product
        console.log(JSON.stringify(${expression}))`,
      ]),
    start(settings, environment = {}) {
      const options = { environment, root, role: 'web' } as const
      // The address is in a log line of the level `info`.
      const all = { ...steady, 'platform.log.level': 'info', ...settings }
      return startProcess({ teardown: (work) => works.push(work) }, file, all, options)
    },
    async remove() {
      for (const work of works.reverse()) await work()
    },
  }
}

/** Creates the administrator in a migrated database. */
export const createAdministrator = (product: RecordedProduct, settings: Settings) =>
  product.run(
    ['admin', 'create', '--username', administrator.username, '--password-stdin'],
    settings,
    administrator.password,
  )

/** Signs in with the password of the administrator, and returns the calls of the user. */
export async function signIn(url: string, username = administrator.username): Promise<Call> {
  const send = async (method: string, path: string, { body, headers = {} }: CallOptions = {}): Promise<Response> => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const content = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(`${url}/api/v1/${path}`, { method, headers: { ...type, ...headers }, ...content })
    const text = await response.text()
    return { status: response.status, text, ...JSON.parse(text) }
  }
  const { data } = await send('POST', 'auth/login', { body: { username, password: administrator.password } })
  const authorization = `Bearer ${data.accessToken}`
  return (method, path, { body, headers = {} } = {}) =>
    send(method, path, { ...(body === undefined ? {} : { body }), headers: { authorization, ...headers } })
}

/**
 * Returns the data of a successful response.
 *
 * @throws Error if the call failed
 */
export async function dataOf(response: Promise<Response>) {
  const { code, data, text } = await response
  if (code !== '200') throw new Error(text)
  return data
}
