import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ApiClient } from '@plinth/client'
import { database } from '@plinth/database'
import { startForTest, until } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import type { Product } from '@plinth/kernel'
import type { Test } from 'tap'
import { mall } from '../../examples/mall/contract.ts'
import product from '../../examples/quickstart/plinth.config.ts'
import { partsOf } from '../../plugins/mail/test/fixtures/mail-server.ts'
import { fillMarked, markedUser, rowMarker } from '../data-scope/marked-rows.ts'
import { dataDirectory } from '../fixtures/product-process.ts'
import { assertSuccess, recordingClient, type Successes } from './clients.ts'
import type { LostResponses } from './lost-responses.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
export const administrator = { username: 'root', password: 'Correct-horse-7' }

/** The quickstart with an administrator, and a user with one row in every table that has rows of users. */
export interface Scene {
  readonly admin: ApiClient
  readonly user: ApiClient
  readonly publicClient: ApiClient
  readonly clientOf: (accessToken: string) => ApiClient
  readonly administrator: typeof administrator
  readonly userId: number
  /** Text in the rows of the user. */
  readonly mark: string
  readonly idOf: (entity: string) => number
  /** Changes rows directly, to reach states that no call can produce in a test. */
  readonly execute: (sql: string, parameters?: readonly (string | number)[]) => Promise<unknown>
  /** Waits for a condition. */
  readonly until: typeof until
  /** Returns the last code that was sent to an address. */
  readonly sentCode: (address: string) => Promise<string>
  /** Returns the token of the last link that was mailed to an address. */
  readonly sentLink: (address: string, purpose: string) => Promise<string>
  readonly successes: Successes
  readonly url: string
}

/**
 * Waits for a code that was sent to an address, and returns the last one. The sender for development writes one file
 * per code.
 */
async function lastCode(directory: string, address: string): Promise<string> {
  let code = ''
  await until(async () => {
    const names = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith('.json'))
    for (const name of names.toSorted()) {
      const sent = JSON.parse(await readFile(join(directory, name), 'utf8'))
      if (sent.recipient === address) code = sent.code
    }
    return code !== ''
  }, `a code for ${address}`)
  return code
}

/** Waits for a mail with a link. The mail driver for development writes one file per mail. */
async function lastLink(directory: string, address: string, purpose: string): Promise<string> {
  let token = ''
  await until(async () => {
    const names = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith('.eml'))
    for (const name of names.toSorted()) {
      const raw = await readFile(join(directory, name), 'latin1')
      if (!raw.includes(`To: ${address}`)) continue
      const [found] = new RegExp(`(?<=#for=${purpose}&token=)\\w+`).exec(partsOf({ raw })['text/plain'] ?? '') ?? []
      token = found ?? token
    }
    return token !== ''
  }, `a link for ${address}`)
  return token
}

export async function startScene(
  t: Test,
  successes: Successes,
  settings: Readonly<Record<string, string>> = {},
  lost?: LostResponses,
): Promise<Scene> {
  const root = await dataDirectory(t.teardown)
  const running = await startForTest(
    { ...product, plugins: [...product.plugins, ...(lost ? [lost.plugin()] : [])], root } as Product,
    {
      set: {
        'platform.http.port': '0',
        'platform.http.response-check': 'true',
        'platform.http.overload.max-wait': '1m',
        'platform.template.compile-deadline': '1m',
        'platform.install.installed': 'true',
        'platform.install.allow-reinstall': 'true',
        'platform.database.sqlite.file': join(root, 'plinth.sqlite'),
        'platform.iam.password.hash.memory': '1MiB',
        'platform.iam.password.hash.passes': '1',
        'platform.rate-limit.enabled': 'false',
        'platform.mail.driver': 'file',
        'platform.mail.from': 'noreply@shop.example',
        'platform.mail.file.directory': join(root, 'mails'),
        'platform.site.url': 'https://shop.example',
        'platform.iam.auth.login.verification.email.sender': 'file',
        'platform.iam.auth.login.verification.sms.sender': 'file',
        'platform.iam.auth.login.verification.file-sender.directory': join(root, 'codes'),
        'platform.open-platform.metering.flush-interval': '10ms',
        'platform.example.mall.test-payments': 'true',
        'platform.sign-in-oidc.providers': JSON.stringify({
          shop: { issuer: 'https://id.shop.example', clientId: 'plinth', enabled: false },
        }),
        ...settings,
      },
    },
  )
  t.teardown(() => running.stop('test ended'))
  const { url = '' } = running.service(http)
  const db = running.service(database)
  lost?.watch(db)
  const people = running.service(accounts)
  await people.createSuperAdministrator(administrator, origin)
  const { id: userId } = await people.create(markedUser, origin)
  await running.service(mall).seedDemo()
  const rows = await fillMarked(db, { userId, mark: rowMarker })
  // These rows have the marker text as their configuration key, which is invalid, so they are removed.
  await db.execute('delete from sys_config where config_key = ?', [rowMarker])
  await db.execute('delete from sys_config_history where config_key = ?', [rowMarker])
  // The user signs in with the password alone.
  await db.execute('delete from authenticator_totp')
  await db.execute('delete from authenticator_passkey')
  const publicClient = recordingClient(url, successes)
  const clientOf = (accessToken: string) =>
    recordingClient(url, successes, { authorization: `Bearer ${accessToken}` }, lost?.fetch)
  const signedIn = async (username: string, password: string) => {
    const session = await assertSuccess(publicClient.POST('/api/v1/auth/login', { body: { username, password } }))
    return clientOf(session.accessToken ?? '')
  }
  return {
    admin: await signedIn(administrator.username, administrator.password),
    user: await signedIn(markedUser.username, 'Correct-horse-8'),
    publicClient,
    clientOf,
    administrator,
    userId,
    mark: rowMarker,
    idOf: (entity) => Number(rows.get(entity)?.key.value),
    execute: (sql, parameters = []) => db.execute(sql, [...parameters]),
    until,
    sentCode: (address) => lastCode(join(root, 'codes'), address),
    sentLink: (address, purpose) => lastLink(join(root, 'mails'), address, purpose),
    successes,
    url,
  }
}
