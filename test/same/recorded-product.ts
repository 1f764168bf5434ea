/** Products of a checkout of this repository. They are used only from outside, so that an earlier checkout can be recorded too. */
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { programEnvironment, waitForProcessEnd } from '@plinth/dev/testing'
import { administrator, type ProductProcess, startProcess } from '../fixtures/product-process.ts'

const example = (name: string) => (root: string) =>
  `
import { defineProduct } from '@plinth/kernel'
import product from '${root}/examples/${name}/plinth.config.ts'
export default defineProduct(product)
`

/** Source of the product file, by name of the product. The parameter is the directory of the checkout. */
const sources = {
  quickstart: example('quickstart'),
  lite: example('lite'),
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

type Texts = Readonly<Record<string, string>>

/** Settings that make a record independent of the host and of time. The address of an instance is in a log line of the level `info`. */
const steady = {
  'platform.rate-limit.enabled': 'false',
  'platform.iam.password.hash.memory': '1MiB',
  'platform.iam.password.hash.passes': '1',
}

/** Sorts the members of objects. */
const sorted = (_: string, value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : value

/** A product in a directory of its own, and the folder of its record. */
export class RecordedProduct {
  readonly directory = mkdtempSync(join(tmpdir(), 'plinth-same-'))
  readonly #root: string
  readonly #folder: string
  readonly #file = join(this.directory, 'plinth.config.ts')
  readonly #works: (() => unknown)[] = [() => rmSync(this.directory, { recursive: true, force: true })]

  /**
   * @param root directory of the checkout, whose packages are installed
   * @param folder directory to which the files of the record are written
   */
  constructor(root: string, name: ProductName, folder: string) {
    this.#root = root
    this.#folder = folder
    symlinkSync(join(root, 'node_modules'), join(this.directory, 'node_modules'))
    writeFileSync(join(this.directory, 'package.json'), JSON.stringify({ name, version: '1.0.0', type: 'module' }))
    writeFileSync(this.#file, sources[name](root))
  }

  /** Adds a file to the record. Values other than texts are written as JSON. Paths of this host are replaced. */
  write(name: string, content: unknown): void {
    const file = join(this.#folder, name)
    const text = typeof content === 'string' ? content : `${JSON.stringify(content, sorted, 1)}\n`
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text.replaceAll(this.directory, '<product>').replaceAll(this.#root, '<checkout>'))
  }

  /** Runs a command with `--json` and returns its result. */
  run(words: readonly string[], settings: Texts = {}, input = ''): Promise<unknown> {
    const set = Object.entries({ ...steady, ...settings }).flatMap(([key, value]) => ['--set', `${key}=${value}`])
    const program = join(this.#root, 'kernel/src/cli/main.ts')
    return this.#runNode([program, ...words, '--product', this.#file, '--json', ...set], input)
  }

  /** Returns the value of a JavaScript expression about the plugins of the product. */
  evaluate(expression: string): Promise<unknown> {
    const source = `import product from '${this.#file}'; const { plugins } = product; console.log(JSON.stringify(${expression}))`
    return this.#runNode(['--input-type=module', '--eval', source])
  }

  /** Creates the administrator and starts an instance of the role `web`. The database is already migrated. */
  async start(settings: Texts, environment: Texts = {}): Promise<ProductProcess> {
    const { username, password } = administrator
    await this.run(['admin', 'create', '--username', username, '--password-stdin'], settings, password)
    const all = { ...steady, 'platform.log.level': 'info', ...settings }
    const options = { environment, root: this.#root, role: 'web' } as const
    return startProcess({ teardown: (work) => this.#works.push(work) }, this.#file, all, options)
  }

  /** Stops everything and removes the directory. */
  async remove(): Promise<void> {
    for (const work of this.#works.reverse()) await work()
  }

  /** Runs Node.js and returns its output, which is JSON. A file receives it: a command that ends does not wait for a slow reader. */
  async #runNode(words: readonly string[], input = ''): Promise<unknown> {
    const output = join(this.directory, 'output.json')
    const stdout = openSync(output, 'w')
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...words], {
      cwd: this.directory,
      env: programEnvironment(),
      stdio: ['pipe', stdout, 'pipe'],
    })
    closeSync(stdout)
    child.stdin?.end(input)
    const { code, stderr } = await waitForProcessEnd(child)
    const text = readFileSync(output, 'utf8')
    if (code !== 0) throw new Error(`node ${words.join(' ')} ended with ${code}: ${text}${stderr}`)
    return JSON.parse(text)
  }
}

export interface Response {
  readonly status: number
  readonly code: string
  // biome-ignore lint/suspicious/noExplicitAny: responses of all routes
  readonly data: any
  readonly text: string
}

/** Calls operations below `/api/v1` as one user. */
export type Call = (method: string, path: string, body?: object, headers?: Texts) => Promise<Response>

/** Signs in with the password of the administrator, and returns the calls of the user. */
export async function signIn(url: string, username = administrator.username): Promise<Call> {
  const callWith =
    (own: Texts): Call =>
    async (method, path, body, headers) => {
      const content = body && { body: JSON.stringify(body) }
      const all = { ...(body && { 'content-type': 'application/json' }), ...own, ...headers }
      const response = await fetch(`${url}/api/v1/${path}`, { method, headers: all, ...content })
      const text = await response.text()
      return { status: response.status, text, ...JSON.parse(text) }
    }
  const { accessToken } = await dataOf(callWith({})('POST', 'auth/login', { ...administrator, username }))
  return callWith({ authorization: `Bearer ${accessToken}` })
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

interface Role extends Readonly<Record<'code' | 'name' | 'dataScope', string>> {
  readonly permissions: readonly string[]
}

/** Creates a user with a role and the password of the administrator, and returns the role. */
export async function createUser(root: Call, role: Role) {
  const created = await dataOf(root('POST', 'admin/iam/roles', role))
  const { password } = administrator
  await dataOf(root('POST', 'admin/iam/users', { username: role.code, password, roleIds: [created.id] }))
  return created
}
