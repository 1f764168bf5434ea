import { fromHex, isHexBytes, keccak256, utf8 } from '../hex.ts'

/** How the text of a message stands for its bytes. Never guessed: `0x61` as text is another message than the byte. */
export type MessageEncoding = 'utf8' | 'hex'

/** Bytes of a message. What is hashed holds the event loop, so there is an end. */
const longestMessage = 16 * 1024

/**
 * The digest that `personal_sign` signs (EIP-191, version 0x45): the prefix holds the number of bytes, not of characters.
 * `undefined` for what is no such message: longer than `longestMessage`, half a surrogate pair, no hexadecimal bytes.
 */
export function personalDigest(message: string, encoding: MessageEncoding = 'utf8'): Uint8Array | undefined {
  const bytes = bytesOf(message, encoding)
  if (bytes === undefined || bytes.length > longestMessage) return undefined
  const prefix = utf8(`\x19Ethereum Signed Message:\n${bytes.length}`)
  return keccak256(Buffer.concat([prefix, bytes]))
}

function bytesOf(message: string, encoding: MessageEncoding): Uint8Array | undefined {
  if (typeof message !== 'string' || message.length > 2 + 2 * longestMessage) return undefined
  if (encoding === 'hex') return isHexBytes(message) ? fromHex(message) : undefined
  return message.isWellFormed() ? utf8(message) : undefined
}
