import { hash, randomUUID } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, type Hex, keccak256, lowerHex, toHex, utf8 } from '@plinth/web3'
import type { Anvil } from './anvil.ts'
import { source, sourceName } from './token-sources.ts'

export type TestContract = 'Token' | 'OddToken' | 'Collectible' | 'Wallet1271' | 'OddWallet'

/** EVM version of the contracts, which every chain in the tests supports. */
const evmVersion = 'paris'

type Bytecodes = Readonly<Record<TestContract, Hex>>
let compiled: Bytecodes | undefined

/** Returns the bytecode of the contracts. It is cached on disk, because loading the compiler takes a second. */
export function bytecodes(): Bytecodes {
  compiled ??= fromCache() ?? compile()
  return compiled
}

const cacheFile = () =>
  join(tmpdir(), `plinth-contracts-${hash('sha256', `${evmVersion} ${source}`).slice(0, 16)}.json`)

function fromCache(): Bytecodes | undefined {
  try {
    return JSON.parse(readFileSync(cacheFile(), 'utf8'))
  } catch {
    return undefined
  }
}

function compile(): Bytecodes {
  const solc: { compile(input: string): string } = createRequire(import.meta.url)('solc')
  const outputSelection = { '*': { '*': ['evm.bytecode.object'] } }
  const settings = { evmVersion, optimizer: { enabled: true, runs: 200 }, outputSelection }
  const input = { language: 'Solidity', sources: { [sourceName]: { content: source } }, settings }
  const { contracts, errors = [] } = JSON.parse(solc.compile(JSON.stringify(input)))
  const fatal = errors.filter(({ severity }: { severity: string }) => severity === 'error')
  if (fatal.length > 0)
    throw new Error(fatal.map((one: { formattedMessage: string }) => one.formattedMessage).join('\n'))
  const compiled: Record<string, { evm: { bytecode: { object: string } } }> = contracts[sourceName]
  const codes = Object.entries(compiled).map(([name, { evm }]) => [name, `0x${evm.bytecode.object}`])
  const found: Bytecodes = Object.fromEntries(codes)
  // Writes a new file and renames it, because test files that run in parallel must read a complete file.
  const whole = `${cacheFile()}.${randomUUID()}`
  writeFileSync(whole, JSON.stringify(found))
  renameSync(whole, cacheFile())
  return found
}

/** An address or an integer of 32 bytes. */
export type Argument = Address | bigint | number

const word = (argument: Argument) =>
  (typeof argument === 'string' ? argument.slice(2).toLowerCase() : argument.toString(16)).padStart(64, '0')

/** Encodes the call of a function, for example `callData('transfer(address,uint256)', to, 5n)`. */
export function callData(signature: string, ...values: readonly Argument[]): Hex {
  return `0x${toHex(keccak256(utf8(signature))).slice(2, 10)}${values.map(word).join('')}`
}

/** Deploys a contract. @returns its address in lower case */
export async function deploy(chain: Anvil, name: TestContract, ...values: readonly Argument[]): Promise<Address> {
  const [from = '0x'] = chain.accounts
  const data: Hex = `${bytecodes()[name]}${values.map(word).join('')}`
  const hash = await chain.send({ from, data, gas: 3_000_000 })
  const receipt = await chain.rpc<{ contractAddress: Address } | null>('eth_getTransactionReceipt', [hash])
  if (receipt === null) throw new Error('a contract can only be deployed while the chain mines by itself')
  return lowerHex(receipt.contractAddress)
}

export interface TokenSend {
  /** Gas limit. If it is specified, the transaction is mined even if it fails. */
  readonly gas?: number
}

/** Methods that send a transaction return its hash. */
export interface TestToken {
  readonly address: Address
  mint(to: Address, value: bigint): Promise<Hex>
  transfer(from: Address, to: Address, value: bigint, how?: TokenSend): Promise<Hex>
  transferTwice(from: Address, a: Address, va: bigint, b: Address, vb: bigint): Promise<Hex>
  /** Returns the data of a transfer, for transactions that the test signs itself. */
  transferData(to: Address, value: bigint): Hex
  balanceOf(owner: Address): Promise<bigint>
}

export async function deployToken(chain: Anvil): Promise<TestToken> {
  const address = await deploy(chain, 'Token')
  const [minter = '0x'] = chain.accounts
  const transferData = (to: Address, value: bigint) => callData('transfer(address,uint256)', to, value)
  return {
    address,
    transferData,
    mint: (to, value) => chain.send({ from: minter, to: address, data: callData('mint(address,uint256)', to, value) }),
    transfer: (from, to, value, how = {}) => chain.send({ from, to: address, data: transferData(to, value), ...how }),
    transferTwice: (from, a, va, b, vb) =>
      chain.send({ from, to: address, data: callData('transferTwice(address,uint256,address,uint256)', a, va, b, vb) }),
    async balanceOf(owner) {
      const data = callData('balanceOf(address)', owner)
      return BigInt(await chain.rpc<Hex>('eth_call', [{ to: address, data }, 'latest']))
    },
  }
}
