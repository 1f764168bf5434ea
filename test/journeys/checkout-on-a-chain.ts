/** Starts the quickstart with `examples/checkout`. Orders are paid on a local chain. */
import { join } from 'node:path'
import { createDatabase, startMigrated } from '@plinth/dev/testing/database'
import { deployToken, startAnvil } from '@plinth/dev/testing/web3'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct, systemClock } from '@plinth/kernel'
import checkoutPlugin from '@plinth-example/checkout'
import type { Test } from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import quickstart from '../../examples/quickstart/plinth.config.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const auditTask = 'money.web3.payment-settlement.audit'
export const password = 'Correct-horse-7'
/** Address of the recipient. */
export const shop = `0x${'5c'.repeat(20)}` as const
/** Account of the payer. */
export const wallet = privateKeyToAccount(`0x${'42'.repeat(32)}`)

/** Payment terms of a checkout order. */
interface Terms {
  readonly tokenContract: `0x${string}`
  readonly receiver: `0x${string}`
  readonly amountRaw: string
}

/**
 * Starts the product and the chain.
 * @param config values in addition to the configuration of the product
 */
export async function startCheckout(t: Test, config: object = {}) {
  const chain = await startAnvil()
  t.teardown(() => chain.stop())
  const token = await deployToken(chain)
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const product = defineProduct({
    name: 'quickstart',
    plugins: [...quickstart.plugins, checkoutPlugin],
    config: {
      ...quickstart.config,
      ...db.config,
      'platform.http.port': 0,
      // On a busy host the load shedder would otherwise reject requests.
      'platform.http.overload.max-wait': '1m',
      'platform.http.response-check': true,
      'platform.storage.root': join(db.directory, 'storage'),
      'platform.system-config.master-key-file': join(db.directory, 'master.key'),
      'platform.install.installed': true,
      'platform.rate-limit.enabled': false,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.outgoing-http.allow-http': true,
      'platform.outgoing-http.allowed-hosts': [`127.0.0.1:${chain.port}`],
      'platform.money.web3.settlement.audit.older-than-minutes': 0,
      'platform.example.checkout.chain': 'local',
      'platform.example.checkout.token': token.address,
      'platform.example.checkout.receiver': shop,
      ...config,
    },
  })
  // Uses the real clock, because the deadlines of requests to a node are in real time.
  const running = await startMigrated(product, { clock: systemClock })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const call = async (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object, accessToken?: string) => {
    const headers = accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }
    const body = payload === undefined ? {} : { payload }
    return (await server.inject({ method, url: `/api/v1/${path}`, headers, ...body })).json()
  }
  const as = (accessToken: string) => (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) =>
    call(method, path, payload, accessToken)
  await running.service(accounts).createAdministrator({ username: 'root', password }, origin)
  const logIn = async (username: string) =>
    as((await call('POST', 'auth/login', { username, password })).data.accessToken)
  const root = await logIn('root')
  /** Creates an operator with these permissions. */
  const operator = async (username: string, ...permissions: string[]) => {
    const role = { code: `role-${username}`, name: username, dataScope: 'all', permissions }
    const { data } = await root('POST', 'admin/iam/roles', role)
    await running.service(accounts).create({ username, password, roleIds: [data.id] }, origin)
    return logIn(username)
  }
  /** Registers the chain in the product and funds the wallet. */
  const openShop = async () => {
    const provider = { id: 'node', url: chain.url }
    const terms = { name: 'local', chainId: chain.chainId, requiredConfirmations: 3, providers: [provider] }
    const created = await root('POST', 'admin/web3/chains', terms)
    await token.mint(wallet.address, 1_000_000_000n)
    const [funder = '0x'] = chain.accounts
    await chain.send({ from: funder, to: wallet.address, value: 10n ** 18n })
    return created
  }
  /** Signs the first payment of the wallet, but does not send it. */
  const signPayment = ({ tokenContract, receiver, amountRaw }: Terms) =>
    wallet.signTransaction({
      chainId: chain.chainId,
      type: 'eip1559',
      nonce: 0,
      to: tokenContract,
      gas: 100_000n,
      data: token.transferData(receiver, BigInt(amountRaw)),
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 1n,
    })
  /** Runs the scheduled audit, which compares settled orders with the chain. */
  const audit = () => running.scheduledTasks.find(({ name }) => name === auditTask)?.run(new AbortController().signal)
  return { chain, token, running, server, call, as, root, operator, openShop, signPayment, audit }
}
