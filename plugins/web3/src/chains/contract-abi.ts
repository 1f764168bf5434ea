import { type Hex, lowerHex } from '../hex.ts'

/** Loaded with the first call of a contract, which most products never make: loading takes half a second. */
const viem = () => import('viem')

/** EIP-1271. */
const signatureAbi = [
  {
    type: 'function',
    name: 'isValidSignature',
    stateMutability: 'view',
    inputs: [
      { name: 'hash', type: 'bytes32' },
      { name: 'signature', type: 'bytes' },
    ],
    outputs: [{ name: 'magicValue', type: 'bytes4' }],
  },
] as const

/** The call that asks a contract about a signature, and the only data with which it agrees: other bytes of the word count. */
export async function signatureCall(digest: Hex, signature: Hex): Promise<{ readonly data: Hex; readonly yes: Hex }> {
  const { encodeFunctionData, encodeFunctionResult, toFunctionSelector } = await viem()
  return {
    data: encodeFunctionData({ abi: signatureAbi, args: [digest, lowerHex(signature)] }),
    yes: encodeFunctionResult({ abi: signatureAbi, result: toFunctionSelector(signatureAbi[0]) }),
  }
}

/** The calls `decimals()` and `symbol()` of a token (EIP-20). */
export async function tokenCalls(): Promise<{ readonly decimals: Hex; readonly symbol: Hex }> {
  const { encodeFunctionData, erc20Abi } = await viem()
  const call = (functionName: 'decimals' | 'symbol') => encodeFunctionData({ abi: erc20Abi, functionName })
  return { decimals: call('decimals'), symbol: call('symbol') }
}

/** The text that `symbol()` returns, as a `string` or as a `bytes32` of early tokens; undefined when it is neither. */
export async function symbolText(data: Hex): Promise<string | undefined> {
  const { decodeFunctionResult, erc20Abi, erc20Abi_bytes32, hexToString } = await viem()
  const isWord = data.length === 66
  try {
    return isWord
      ? hexToString(decodeFunctionResult({ abi: erc20Abi_bytes32, functionName: 'symbol', data }))
      : decodeFunctionResult({ abi: erc20Abi, functionName: 'symbol', data })
  } catch {
    return undefined
  }
}
