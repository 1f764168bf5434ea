import { type Hex, lowerHex } from '../addresses.ts'

/** Imports the library late, because the import takes half a second and most products never call a contract. */
const viem = () => import('viem')

/** ABI of EIP-1271. */
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

/** Returns the call that checks a signature, and the only result that confirms it. */
export async function encodeSignatureCall(
  digest: Hex,
  signature: Hex,
): Promise<{ readonly data: Hex; readonly yes: Hex }> {
  const { encodeFunctionData, encodeFunctionResult, toFunctionSelector } = await viem()
  return {
    data: encodeFunctionData({ abi: signatureAbi, args: [digest, lowerHex(signature)] }),
    yes: encodeFunctionResult({ abi: signatureAbi, result: toFunctionSelector(signatureAbi[0]) }),
  }
}

/** Returns the calls that read decimals and symbol of a token (EIP-20). */
export async function encodeTokenCalls(): Promise<{ readonly decimals: Hex; readonly symbol: Hex }> {
  const { encodeFunctionData, erc20Abi } = await viem()
  const call = (functionName: 'decimals' | 'symbol') => encodeFunctionData({ abi: erc20Abi, functionName })
  return { decimals: call('decimals'), symbol: call('symbol') }
}

/** Decodes a `string`, or the `bytes32` of early tokens; undefined for other data. */
export async function decodeSymbol(data: Hex): Promise<string | undefined> {
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
