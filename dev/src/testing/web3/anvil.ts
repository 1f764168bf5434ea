import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'
import type { Address, Hex } from '@plinth/web3'
import { freePort, programEnvironment } from '../index.ts'

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }
const startMs = 120_000
const pauseMs = 20

/**
 * Returns the path of the program itself. The start script of the package would run it in a child process that survives
 * a kill.
 */
function programPath(): string | undefined {
  const name = `@foundry-rs/anvil-${platform()}-${architectures[arch()]}/package.json`
  try {
    const program = join(dirname(createRequire(import.meta.url).resolve(name)), 'bin', 'anvil')
    return existsSync(program) ? program : undefined
  } catch {
    return undefined
  }
}

/** Reason to skip tests; `false` if the program is installed. */
export const skipAnvil: false | string = programPath() === undefined ? 'no anvil program for this machine' : false

export interface AnvilSettings {
  /** Number of the chain. Default: 31337. */
  readonly chainId?: number
  /** Number of blocks between the head and the block `safe`; `finalized` is twice as far behind. Default: 32. */
  readonly slotsInAnEpoch?: number
}

/** A transaction that the chain itself signs, because it has the key of the sender. */
export interface TestTransaction {
  readonly from: Address
  readonly to?: Address
  readonly data?: Hex
  readonly value?: bigint
  /** Gas limit. If it is specified, the transaction is mined even if it fails. */
  readonly gas?: number
}

/** An EVM chain for one test. It mines every transaction immediately, unless mining is off. */
export interface Anvil {
  readonly url: string
  readonly port: number
  readonly chainId: number
  /** Ten accounts with funds. The chain has their keys and signs for them. */
  readonly accounts: readonly Address[]
  /** @throws Error with the error text that the chain returns */
  rpc<Result = unknown>(method: string, params?: readonly unknown[]): Promise<Result>
  /** Sends a transaction. If the chain mines automatically, waits until the transaction is in a block. */
  send(transaction: TestTransaction): Promise<Hex>
  sendRaw(raw: Hex): Promise<Hex>
  /** @param secondsBetween seconds between the times of two blocks; default: all blocks get the current time */
  mine(blocks?: number, secondsBetween?: number): Promise<void>
  head(): Promise<number>
  automine(on: boolean): Promise<void>
  snapshot(): Promise<string>
  /** Removes all blocks after the snapshot. Each snapshot can be used once. */
  revert(snapshot: string): Promise<void>
  /**
   * Replaces the newest blocks by as many others. Transactions of the old blocks disappear, unless `raw` contains them.
   *
   * @param raw signed transactions, each with the index of its new block
   */
  reorganise(depth: number, raw?: readonly (readonly [transaction: Hex, block: number])[]): Promise<void>
  /** From now on, the process accepts connections but does not respond. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

/** The caller must stop the chain. */
export async function startAnvil({ chainId = 31337, slotsInAnEpoch }: AnvilSettings = {}): Promise<Anvil> {
  const program = programPath()
  if (program === undefined) throw new Error(String(skipAnvil))
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const epoch = slotsInAnEpoch === undefined ? [] : ['--slots-in-an-epoch', `${slotsInAnEpoch}`]
    const words = ['--silent', '--host', '127.0.0.1', '--port', `${port}`, '--chain-id', `${chainId}`, ...epoch]
    const child = spawn(program, words, { stdio: 'ignore', env: programEnvironment() })
    const end = () => child.kill('SIGKILL')
    process.once('exit', end)
    const chain = chainOn(port, chainId, child, () => process.off('exit', end))
    if (await isUp(chain, child)) return { ...chain, accounts: await chain.rpc<Address[]>('eth_accounts') }
    await chain.stop()
    // Another process may have taken the port.
    if (attempt === 3) throw new Error('anvil did not start')
  }
}

async function isUp(chain: Pick<Anvil, 'rpc'>, child: ChildProcess): Promise<boolean> {
  for (const end = performance.now() + startMs; performance.now() < end; ) {
    if (child.exitCode !== null) return false
    try {
      await chain.rpc('eth_chainId')
      return true
    } catch {
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
  return false
}

function chainOn(port: number, chainId: number, child: ChildProcess, released: () => void): Anvil {
  const url = `http://127.0.0.1:${port}`
  async function rpc<Result>(method: string, params: readonly unknown[] = []): Promise<Result> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error }: { result: Result; error?: { message: string } } = JSON.parse(await response.text())
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }
  let minesByItself = true
  /** Waits until the transaction is in a block, because the chain returns the hash before that. */
  async function mined(hash: Hex): Promise<Hex> {
    for (const end = performance.now() + startMs; minesByItself && performance.now() < end; ) {
      if ((await rpc('eth_getTransactionReceipt', [hash])) !== null) break
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
    return hash
  }
  const quantity = (value: bigint | number) => `0x${value.toString(16)}`
  return {
    url,
    port,
    chainId,
    accounts: [],
    rpc,
    send: async ({ value, gas, ...rest }) => {
      const amounts = {
        ...(value === undefined ? {} : { value: quantity(value) }),
        ...(gas === undefined ? {} : { gas: quantity(gas) }),
      }
      return mined(await rpc<Hex>('eth_sendTransaction', [{ ...rest, ...amounts }]))
    },
    sendRaw: async (raw) => mined(await rpc<Hex>('eth_sendRawTransaction', [raw])),
    mine: async (blocks = 1, secondsBetween) => {
      const interval = secondsBetween === undefined ? [] : [quantity(secondsBetween)]
      await rpc('anvil_mine', [quantity(blocks), ...interval])
    },
    head: async () => Number(await rpc<Hex>('eth_blockNumber')),
    automine: async (on) => {
      await rpc('evm_setAutomine', [on])
      minesByItself = on
    },
    snapshot: () => rpc<string>('evm_snapshot'),
    revert: async (snapshot) => {
      if (!(await rpc<boolean>('evm_revert', [snapshot]))) throw new Error('the snapshot is used up')
    },
    reorganise: async (depth, raw = []) => {
      await rpc('anvil_reorg', [depth, raw])
    },
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    async stop() {
      released()
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
