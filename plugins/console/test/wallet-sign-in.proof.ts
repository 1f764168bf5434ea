/** Tests the sign-in to the back office with a browser wallet. The wallet signs in this process. */

import { assertMembers, until } from '@plinth/dev/testing'
import idempotency from '@plinth/idempotency'
import { omitUndefined } from '@plinth/kernel'
import outgoingHttp from '@plinth/outgoing-http'
import rateLimit from '@plinth/rate-limit'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStore from '@plinth/shared-store'
import systemConfig from '@plinth/system-config'
import walletLogin from '@plinth/wallet-login'
import web3 from '@plinth/web3'
import type { Page } from 'playwright-core'
import t from 'tap'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { password, startBackOffice } from './fixtures/back-office.ts'
import {
  emulateColorScheme,
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  saveScreenshot,
  skip,
} from './fixtures/browser.ts'

type Teardown = (work: () => Promise<void>) => void

const plugins = [idempotency, outgoingHttp, rateLimit, sharedWindow, sharedStore, systemConfig, walletLogin, web3]
const start = (directory: string, set: Readonly<Record<string, string>> = {}) =>
  startBackOffice(directory, (work) => t.teardown(work), {
    plugins,
    set: {
      'platform.rate-limit.default-store': 'shared-window',
      'platform.system-config.master-key-file': `${directory}/master.key`,
      'platform.wallet-login.rate-limit.address-max-attempts': '0',
      'platform.wallet-login.rate-limit.ip-max-attempts': '0',
      ...set,
    },
  })
const root = t.testdir()
const office = skip === false ? await start(`${root}/usual`) : undefined

let keys = 0
/** Returns the account of a new wallet. */
const newAccount = () => privateKeyToAccount(`0x${String(++keys).padStart(64, '1')}`)

interface Ask {
  readonly method: string
  readonly params: readonly unknown[]
}
/** Defines how a wallet responds: with a result, or with the code of its rejection. */
type Behaviour = (ask: Ask) => unknown

class Refusal {
  readonly code: number
  constructor(code: number) {
    this.code = code
  }
}

/** Returns the behaviour of a wallet that accepts every request. */
const willing =
  (account: PrivateKeyAccount, chainId = 1): Behaviour =>
  ({ method, params: [message] }) => {
    if (method === 'eth_requestAccounts') return [account.address]
    if (method === 'eth_chainId') return `0x${chainId.toString(16)}`
    return account.signMessage({ message: { raw: message as `0x${string}` } })
  }

/** Returns a wallet that accepts every request, but signs with a key of another account. */
const forging =
  (account: PrivateKeyAccount, chainId: number): Behaviour =>
  (ask) =>
    willing(ask.method === 'personal_sign' ? newAccount() : account, chainId)(ask)

/** Adds wallets to a page by name before any script of the page runs, as browser extensions do. */
async function install(page: Page, wallets: Readonly<Record<string, Behaviour>>): Promise<Ask[]> {
  const asks: Ask[] = []
  await page.exposeFunction('__wallet', async (name: string, ask: Ask) => {
    asks.push(ask)
    const answer = await wallets[name]?.(ask)
    return answer instanceof Refusal ? { code: answer.code } : { answer }
  })
  await page.addInitScript(`
    const icon = 'data:image/svg+xml,' + encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1" fill="#e8710a"/></svg>')
    const announce = () => {
      for (const name of ${JSON.stringify(Object.keys(wallets))}) {
        const request = async ({ method, params = [] }) => {
          const { answer, code } = await __wallet(name, { method, params })
          if (code !== undefined) throw Object.assign(new Error('refused'), { code })
          return answer
        }
        const detail = Object.freeze({ info: Object.freeze({ uuid: name, name, icon, rdns: 'test.' + name }), provider: { request } })
        dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
      }
    }
    addEventListener('eip6963:requestProvider', announce)
    announce()
  `)
  await page.reload()
  await page.locator('h1').waitFor()
  return asks
}

/** Opens the sign-in page in a browser with wallets. */
async function opened(
  teardown: Teardown,
  wallets: Readonly<Record<string, Behaviour>>,
  { url = office?.url ?? '', ...options }: Parameters<typeof openPage>[2] & { readonly url?: string } = {},
) {
  const watched = await openPage(teardown, url, { locale: 'en', ...options })
  return { ...watched, asks: await install(watched.page, wallets) }
}

/** Assigns the role with all permissions to a user, as the administrator. */
async function giveRole(userId: number): Promise<void> {
  const call = async (method: string, path: string, body?: object, token = '') => {
    const response = await fetch(
      new URL(`../api/v1/${path}`, office?.url),
      omitUndefined({
        method,
        headers: omitUndefined({
          authorization: `Bearer ${token}`,
          'content-type': body === undefined ? undefined : 'application/json',
        }),
        body: body === undefined ? undefined : JSON.stringify(body),
      }),
    )
    // biome-ignore lint/suspicious/noExplicitAny: several routes respond with different data
    return ((await response.json()) as { readonly data: any }).data
  }
  const { accessToken } = await call('POST', 'auth/login', { username: 'root', password })
  const [{ id }] = (await call('GET', 'admin/iam/roles?size=1', undefined, accessToken)).items
  await call('PUT', `admin/iam/users/${userId}`, { roleIds: [id] }, accessToken)
}

const entry = (page: Page) => page.getByRole('button', { name: 'Sign in with a wallet' })
/** Waits until the page shows the sentence. A message of an earlier attempt may still be shown. */
const says = (page: Page, sentence: RegExp) => page.getByRole('alert').filter({ hasText: sentence }).waitFor()

t.test(
  'E13 W-014 one of several wallets is chosen with the keyboard; a new user is told that permissions are missing and can sign out',
  { skip, timeout: 600_000 },
  async (t) => {
    const [anna, bert] = [newAccount(), newAccount()]
    const { page, complaints, elsewhere, asks } = await opened(t.teardown, {
      Amber: willing(anna),
      Birch: willing(bert),
    })
    t.strictSame(asks, [], 'no wallet is asked before somebody wants it')
    await saveScreenshot(page, 'sign-in')
    await entry(page).press('Enter')
    await page.getByRole('button', { name: 'Amber' }).and(page.locator(':focus')).waitFor()
    await page.getByRole('status').filter({ hasText: 'Choose a wallet' }).waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await emulateColorScheme(page, colorScheme)
      t.strictSame(await findAccessibilityProblems(page), [], colorScheme)
    }
    await saveScreenshot(page, 'choice')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your account has no permissions yet' }).waitFor()
    t.strictSame(
      asks.map(({ method }) => method),
      ['eth_requestAccounts', 'eth_chainId', 'personal_sign'],
    )
    const [message, address] = (asks[2]?.params ?? []) as [string, string]
    t.equal(address, bert.address)
    const text = Buffer.from(message.slice(2), 'hex').toString()
    t.ok(text.startsWith(`${new URL(office?.url ?? '').host} wants you to sign in with your Ethereum account:`), text)

    const main = page.locator('main')
    t.match(await main.innerText(), new RegExp(`signed in as ${bert.address.toLowerCase()}`))
    t.strictSame(await page.locator('nav a').allInnerTexts(), ['Overview'])
    t.strictSame(await findAccessibilityProblems(page), [])
    await page.setViewportSize({ width: 390, height: 844 })
    t.equal(await findHorizontalOverflow(page), 0)
    await saveScreenshot(page, 'nothing-granted')
    assertMembers(t, await page.context().cookies(), [
      { name: 'plinth-session', httpOnly: true, sameSite: 'Strict', path: '/api' },
      { name: 'plinth-device', httpOnly: true, sameSite: 'Strict', path: '/api' },
    ])
    t.strictSame(await page.evaluate('({ ...localStorage, ...sessionStorage })'), {})

    const user = await office?.people.findByUsername(bert.address)
    const [login] = (await office?.db.query('select method, success, user_id from iam_login_audit')) ?? []
    t.match(login, { method: 'wallet', user_id: user?.id })

    await giveRole(user?.id ?? 0)
    await main.getByRole('button', { name: 'Reload' }).click()
    await main.getByText('The state of the product').waitFor()
    await page.setViewportSize({ width: 1280, height: 860 })
    await page.getByRole('link', { name: 'Access' }).first().waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    t.strictSame(complaints, [])
    t.strictSame(elsewhere, [])
  },
)

t.test('a browser without a wallet shows what to do', { skip, timeout: 600_000 }, async (t) => {
  for (const [locale, name, sentence] of [
    ['en', 'Sign in with a wallet', /No wallet was found in this browser/],
    ['zh-CN', '使用钱包登录', /此浏览器中没有钱包/],
  ] as const) {
    const { page, complaints } = await opened(t.teardown, {}, { locale, colorScheme: 'dark', hasTouch: true })
    await page.setViewportSize({ width: 390, height: 844 })
    const button = page.getByRole('button', { name })
    await button.click()
    await says(page, sentence)
    await button.and(page.locator(':focus')).waitFor()
    t.strictSame(await findAccessibilityProblems(page), [])
    t.equal(await findHorizontalOverflow(page), 0)
    await saveScreenshot(page, `no-wallet-${locale}`)
    t.strictSame(complaints, [])
  }
})

t.test('if no wallet announces itself, the wallet of the browser signs', { skip, timeout: 600_000 }, async (t) => {
  const account = newAccount()
  const { page } = await opened(t.teardown, {})
  await page.exposeFunction('__held', (ask: Ask) => willing(account)({ ...ask, params: ask.params ?? [] }))
  await page.addInitScript('window.ethereum = { request: (ask) => __held(ask) }')
  await page.reload()
  await entry(page).click()
  await page.getByText(account.address.toLowerCase()).first().waitFor()
})

t.test(
  'an error of a wallet or of the server is shown as a sentence, and the next attempt works',
  { skip, timeout: 600_000 },
  async (t) => {
    const account = newAccount()
    const other = newAccount()
    let behaviour: Behaviour = willing(account)
    const { page, complaints, asks } = await opened(t.teardown, { Amber: (ask) => behaviour(ask) })
    const reject =
      (method: string, answer: unknown): Behaviour =>
      (ask) =>
        ask.method === method ? answer : willing(account)(ask)
    for (const [next, sentence] of [
      [reject('eth_requestAccounts', new Refusal(4001)), /You rejected the request in the wallet/],
      [reject('eth_requestAccounts', new Refusal(-32002)), /already shows a request/],
      [reject('eth_requestAccounts', []), /did not share an address/],
      [reject('eth_requestAccounts', ['0x12']), /address/],
      [reject('personal_sign', new Refusal(4001)), /You rejected the request in the wallet/],
      [reject('personal_sign', new Refusal(-32603)), /error code -32603/],
      [reject('personal_sign', await other.signMessage({ message: 'x' })), /rejected this signature/],
    ] as const) {
      behaviour = next
      await entry(page).click()
      await says(page, sentence)
      await entry(page).and(page.locator(':focus')).waitFor()
    }
    t.strictSame(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'refused')

    // The wallet shows a prompt to which the user does not react.
    const held = Promise.withResolvers<unknown>()
    behaviour = reject('personal_sign', held.promise)
    await entry(page).click()
    await page.getByRole('status').filter({ hasText: 'Waiting for Amber: sign the message' }).waitFor()
    t.equal(await page.getByRole('alert').count(), 0)
    await saveScreenshot(page, 'waiting')
    await page.getByRole('button', { name: 'Cancel' }).press('Enter')
    await entry(page).and(page.locator(':focus')).waitFor()
    held.resolve(await other.signMessage({ message: 'too late' }))
    t.equal(await page.getByRole('alert').count(), 0, 'what comes after that counts no more')

    await page.route('**/auth/wallet/challenge', (route) => route.abort())
    behaviour = willing(account)
    await entry(page).click()
    await says(page, /The server does not respond/)
    await page.unroute('**/auth/wallet/challenge')
    asks.length = 0
    await entry(page).click()
    await page.getByText(account.address.toLowerCase()).first().waitFor()
    t.equal(asks.length, 3)

    const user = await office?.people.findByUsername(account.address)
    await office?.db.execute('update iam_user set enabled = ? where id = ?', [false, user?.id ?? 0])
    await page.context().clearCookies()
    await page.reload()
    await entry(page).click()
    await says(page, /This account is disabled/)
    t.strictSame(
      complaints.filter((complaint) => !complaint.includes('ERR_FAILED')),
      [],
    )
  },
)

t.test(
  'an expired message in the wallet is replaced once automatically; a wallet that never responds times out',
  { skip, timeout: 600_000 },
  async (t) => {
    const account = newAccount()
    const held: (() => void)[] = []
    const shown: string[] = []
    const { page, complaints } = await opened(t.teardown, {
      Amber: async (ask) => {
        if (ask.method !== 'personal_sign') return willing(account)(ask)
        shown.push(String(ask.params[0]))
        await new Promise<void>((answer) => held.push(answer))
        return willing(account)(ask)
      },
    })
    await page.clock.install()
    const status = page.getByRole('status')
    await entry(page).click()
    await status.filter({ hasText: 'Waiting for Amber: sign the message' }).waitFor()
    // Advances the clock by the validity of the message. The page waits longer than this for the wallet.
    await page.clock.setFixedTime(Date.now() + 300_000)
    // The page shows first that it waits, and then calls the wallet, so the test waits for the call.
    const answer = async () => {
      await until(() => held.length > 0, 'the wallet is asked to sign')
      held.shift()?.()
    }
    await answer()
    await status.filter({ hasText: 'The message has expired. Waiting for Amber' }).waitFor()
    await answer()
    await page.getByText(account.address.toLowerCase()).first().waitFor()
    t.equal(new Set(shown).size, 2, 'another message')

    await page.context().clearCookies()
    await page.reload()
    await entry(page).click()
    await status.filter({ hasText: 'Waiting for Amber: sign the message' }).waitFor()
    await page.clock.fastForward(5 * 60_000)
    await says(page, /The wallet did not respond in time/)
    await entry(page).and(page.locator(':focus')).waitFor()
    t.strictSame(complaints, [])
  },
)

t.test(
  'a wallet renews a session that ends in the middle of a form, and nothing is lost; another user sees nothing of it',
  { skip, timeout: 600_000 },
  async (t) => {
    const [wanda, other] = [newAccount(), newAccount()]
    const subject = { provider: 'evm', chainType: 'evm', subject: wanda.address.toLowerCase() }
    if (office === undefined) return
    const user = await office.people.createSuperAdministrator({ username: 'wanda' }, office.actor)
    await office.people.bindExternal(user.id, subject, office.actor)
    let holder = wanda
    const { page, complaints } = await opened(t.teardown, { Amber: (ask) => willing(holder)(ask) })
    await entry(page).click()
    await page.locator('nav a').first().waitFor()
    await page.goto(`${office.url}iam.users`)
    await page.getByRole('button', { name: 'New user' }).click()
    await page.getByLabel('User name').first().fill('berta')
    await page.getByRole('textbox', { name: 'Password' }).fill(password)
    const ended = page.getByText('Your session has ended', { exact: false })
    const end = async () => {
      await page.context().clearCookies()
      // The list behind the form may call the server before the form does. The sign-in dialog then already covers the
      // button, so the click is dispatched directly.
      await page.getByRole('button', { name: 'Save' }).dispatchEvent('click')
      await ended.waitFor()
    }
    await end()
    t.strictSame(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'ended')
    await entry(page).click()
    await ended.waitFor({ state: 'detached' })
    t.equal(await page.getByLabel('User name').first().inputValue(), 'berta')
    t.equal(await page.getByRole('textbox', { name: 'Password' }).inputValue(), password)

    await end()
    holder = other
    await entry(page).click()
    await page.getByRole('heading', { name: 'You do not have access to this page' }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.strictSame(complaints, [])
  },
)

t.test(
  'the error of the limit shows the waiting time, and the error of a wrong chain shows the required chain, in the language of the page',
  { skip, timeout: 600_000 },
  async (t) => {
    const strict = await start(`${root}/strict`, {
      'platform.wallet-login.rate-limit.address-max-attempts': '1',
      'platform.wallet-login.chain-required': 'true',
      'platform.wallet-login.chain-id': '137',
    })
    for (const [locale, name, chain, wait] of [
      ['en', 'Sign in with a wallet', /Only wallets on chain 137/, /Too many requests\. Try again in \d+ (?:s|min)\./],
      ['zh-CN', '使用钱包登录', /链 137/, /\d+ (?:秒|分钟)/],
    ] as const) {
      const { url } = strict
      const [first, second] = [newAccount(), newAccount()]
      let behaviour = willing(first, 1)
      const { page, complaints } = await opened(t.teardown, { Amber: (ask) => behaviour(ask) }, { url, locale })
      const button = page.getByRole('button', { name })
      await button.click()
      await says(page, chain)
      behaviour = forging(first, 137)
      await button.click()
      await page.getByRole('alert').filter({ hasNotText: chain }).waitFor()
      await button.and(page.locator(':focus')).waitFor()
      await button.click()
      await says(page, wait)
      t.strictSame(await findAccessibilityProblems(page), [])
      behaviour = willing(second, 137)
      await button.click()
      await page.getByText(second.address.toLowerCase()).first().waitFor()
      t.strictSame(complaints, [])
    }
  },
)
