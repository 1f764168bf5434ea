import { normalizeAddress } from '../addresses.ts'
import type {
  PersonalSignature,
  TypedDataSignature,
  TypedDataVerification,
  VerificationReason,
  VerificationResult,
  WalletVerifier,
} from '../contract.ts'
import type { ContractWallets } from './contract-wallets.ts'
import { addressOfKey, personalMessageDigest, type RecoveryBackend, readSignature } from './recovery.ts'
import { parseWholeNumber, typedDataDigest } from './typed-data/digest.ts'
import {
  parseTypedDataDocument,
  type TypedDataDocument,
  type TypedDataDomain,
  TypedDataError,
} from './typed-data/document.ts'

/**
 * Creates a verifier. All rules are in this file, so that both backends give the same results.
 *
 * @param contracts queries contract wallets; default: they are not queried
 */
export function createWalletVerifier(backend: RecoveryBackend, contracts?: ContractWallets): WalletVerifier {
  return {
    backend: backend.name,
    verifyPersonal: (signed) => verifyPersonal(backend, signed).result,
    verifyTypedData: (signed) => verifyTypedData(backend, signed).result,
    async verifyPersonalOnChain(chainId, signed) {
      const { result, digest } = verifyPersonal(backend, signed)
      return contracts === undefined || digest === undefined
        ? result
        : contracts.decide(chainId, result, digest, signed.signature)
    },
    async verifyTypedDataOnChain(chainId, signed) {
      const { result, digest } = verifyTypedData(backend, { ...signed, chainId })
      return contracts === undefined || digest === undefined
        ? result
        : contracts.decide(chainId, result, digest, signed.signature)
    },
  }
}

/** Result of a verification. The digest is absent if it could not be computed. */
interface Verified<Result> {
  readonly result: Result
  readonly digest?: Uint8Array
}

function verifyPersonal(
  backend: RecoveryBackend,
  { address, ...signed }: PersonalSignature,
): Verified<VerificationResult> {
  const digest = personalMessageDigest(signed.message, signed.messageEncoding)
  if (digest === undefined) return { result: rejected(address, 'message-malformed') }
  return { result: verifyDigest(backend, address, digest, signed.signature), digest }
}

function verifyTypedData(backend: RecoveryBackend, signed: TypedDataSignature): Verified<TypedDataVerification> {
  const { address, typedData, signature, chainId } = signed
  const read = digestOf(typedData)
  if (read === undefined) return { result: rejected(address, 'typed-data-malformed') }
  const { document, digest } = read
  const domain = domainOf(document)
  const known = { domain, primaryType: document.primaryType }
  const isElsewhere = chainId !== undefined && domain.chainId !== undefined && domain.chainId !== String(chainId)
  if (isElsewhere) return { result: { ...rejected(address, 'chain-id-mismatch'), ...known } }
  return { result: { ...verifyDigest(backend, address, digest, signature), ...known }, digest }
}

function digestOf(text: string): { readonly document: TypedDataDocument; readonly digest: Uint8Array } | undefined {
  try {
    const document = parseTypedDataDocument(text)
    return { document, digest: typedDataDigest(document) }
  } catch (error) {
    if (error instanceof TypedDataError) return undefined
    throw error
  }
}

function verifyDigest(backend: RecoveryBackend, given: string, digest: Uint8Array, text: string): VerificationResult {
  const address = normalizeAddress(given)
  if (address === null) return rejected(given, 'address-invalid')
  const signature = readSignature(text)
  if (typeof signature === 'string') return rejected(address, signature)
  const key = backend.recover(signature, digest)
  if (key === undefined) return rejected(address, 'signature-malformed')
  const recoveredAddress = addressOfKey(key)
  if (recoveredAddress === address) return { valid: true, address, recoveredAddress, method: 'ecrecover' }
  return { ...rejected(address, 'signature-mismatch'), recoveredAddress }
}

const rejected = (address: string, reason: VerificationReason) => ({
  valid: false,
  address: normalizeAddress(address) ?? address,
  reason,
})

/** Returns the domain of a document whose digest was computed, so its members have the correct types. */
function domainOf({ domain }: TypedDataDocument): TypedDataDomain {
  const { chainId, ...texts } = domain
  return {
    ...texts,
    ...(chainId === undefined ? {} : { chainId: String(parseWholeNumber(chainId)) }),
  } as TypedDataDomain
}
