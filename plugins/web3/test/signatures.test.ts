import { createHash } from 'node:crypto'
import { onSqlite } from '@plinth/dev/testing/database'
import { type WalletVerifier, walletVerifier } from '@plinth/web3'
import fc from 'fast-check'
import t from 'tap'
import * as viem from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { addressOfKey, javascriptBackend, nativeBackend, readSignature } from '../src/signatures/recovery.ts'
import { typedDataDigest } from '../src/signatures/typed-data/digest.ts'
import { parseTypedDataDocument } from '../src/signatures/typed-data/document.ts'
import { createWalletVerifier } from '../src/signatures/wallet-verifier.ts'
import { startWeb3 } from './fixtures/product.ts'
import { typedDocument } from './fixtures/typed-documents.ts'
import { vectors } from './fixtures/vectors.ts'

const javascript = createWalletVerifier(await javascriptBackend())
const native = createWalletVerifier(nativeBackend())
const verifiers: readonly WalletVerifier[] = [native, javascript]

const keyOf = (seed: number) => `0x${createHash('sha256').update(`key ${seed}`).digest('hex')}` as const
const anna = privateKeyToAccount(keyOf(1))

const outcomeOf = ({ valid, reason }: { valid: boolean; reason?: string }) => (valid ? 'valid' : reason)

/**
 * Returns the reason that the product reports for a vector. The vectors distinguish two reasons that the product
 * reports as one.
 */
const expectedOf = ({ expected, kind }: { expected: string; kind: string }) =>
  kind === 'erc1271' ? 'signature-mismatch' : expected

for (const verifier of verifiers) {
  t.test(`W-001 W-002 W-033 every signature vector with the ${verifier.backend} backend`, async (t) => {
    t.ok(vectors.signatures.length >= 39)
    for (const vector of vectors.signatures) {
      const { id, address, signature, message = '', messageHex, typedData, pathChainId, digest } = vector
      if (vector.kind === 'eip712') {
        const request = { address, signature, typedData: JSON.stringify(typedData) }
        const result = verifier.verifyTypedData(
          pathChainId === undefined ? request : { ...request, chainId: pathChainId },
        )
        t.equal(outcomeOf(result), expectedOf(vector), id)
        if (digest?.startsWith('0x'))
          t.equal(
            viem.toHex(typedDataDigest(parseTypedDataDocument(JSON.stringify(typedData)))),
            digest,
            `${id}: digest`,
          )
        continue
      }
      // The wallet is a contract, and its owner has signed.
      const owner = address ?? '0x5fbdb2315678afecb367f032d93f642f64180aa3'
      const request =
        messageHex === undefined
          ? { address: owner, message, signature }
          : { address: owner, message: messageHex, messageEncoding: 'hex' as const, signature }
      const result = verifier.verifyPersonal(request)
      t.equal(outcomeOf(result), expectedOf(vector), id)
      t.equal(result.valid, result.recoveredAddress === result.address, `${id}: recovered`)
    }
  })
}

onSqlite(t, 'W-001 the service uses the native backend on a machine that it supports', async (t, db) => {
  const { running } = await startWeb3(t, db)
  const verifier = running.service(walletVerifier)
  t.equal(verifier.backend, 'native')
  const signature = await anna.signMessage({ message: 'hello' })
  t.strictSame(verifier.verifyPersonal({ address: anna.address, message: 'hello', signature }), {
    valid: true,
    address: anna.address.toLowerCase(),
    recoveredAddress: anna.address.toLowerCase(),
    method: 'ecrecover',
  })
})

t.test('W-033 messages of any bytes: signatures of viem are valid in both backends', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc
          .string({ unit: 'grapheme', maxLength: 200 })
          .map((message) => ({ message, messageEncoding: 'utf8' as const })),
        fc
          .uint8Array({ maxLength: 300 })
          .map((bytes) => ({ message: viem.toHex(bytes), messageEncoding: 'hex' as const })),
      ),
      fc.nat(20),
      async ({ message, messageEncoding }, seed) => {
        const account = privateKeyToAccount(keyOf(seed))
        const signed = messageEncoding === 'hex' ? { raw: message as viem.Hex } : message
        const signature = await account.signMessage({ message: signed })
        for (const verifier of verifiers) {
          const request = { address: account.address, message, messageEncoding, signature }
          t.equal(verifier.verifyPersonal(request).valid, true)
          t.equal(verifier.verifyPersonal({ ...request, message: `${message}00` }).valid, false)
        }
      },
    ),
    { numRuns: 60 },
  )
})

t.test(
  'W-002 typed data of any shape: the digest equals that of viem, and every change of a value is detected',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(typedDocument, fc.nat(), async (document, at) => {
        const text = JSON.stringify(document)
        const expected = viem.hashTypedData(document as never)
        t.equal(viem.toHex(typedDataDigest(parseTypedDataDocument(text))), expected)
        const signature = await anna.sign({ hash: expected })
        const request = { address: anna.address, typedData: text, signature }
        for (const verifier of verifiers) t.equal(verifier.verifyTypedData(request).valid, true)
        const names = Object.keys(document.message)
        const name = names[at % names.length] ?? ''
        const { [name]: _, ...without } = document.message
        for (const message of [without, { ...document.message, more: 1 }]) {
          const changed = { ...request, typedData: JSON.stringify({ ...document, message }) }
          t.equal(native.verifyTypedData(changed).reason, 'typed-data-malformed')
        }
      }),
      { numRuns: 200 },
    )
  },
)

t.test('W-025 any signature, message or document gets a result, the same from every backend', async (t) => {
  const signature = await anna.signMessage({ message: 'hello' })
  const near = fc
    .tuple(fc.nat(signature.length - 1), fc.constantFrom(...'0123456789abcdefgxX \n'))
    .map(([at, one]) => signature.slice(0, at) + one + signature.slice(at + 1))
  const anything = fc.oneof(fc.string(), near, fc.json(), fc.constant(signature), fc.constant(signature.slice(0, 130)))
  fc.assert(
    fc.property(anything, anything, anything, (address, content, text) => {
      const [first, second] = verifiers.map((one) => one.verifyPersonal({ address, message: content, signature: text }))
      t.strictSame(first, second)
      const typed = verifiers.map((one) => one.verifyTypedData({ address, typedData: content, signature: text }))
      t.strictSame(typed[0], typed[1])
      t.equal(typed[0]?.valid, false)
    }),
    { numRuns: 500 },
  )
})

t.test('an r that is not a point is malformed in both backends, not an error', async (t) => {
  let seen = 0
  for (let r = 1n; seen < 3 && r < 50n; r++) {
    const signature = `0x${r.toString(16).padStart(64, '0')}${'1'.padStart(64, '0')}1b`
    const read = readSignature(signature)
    if (typeof read === 'string') throw new Error(read)
    const results = verifiers.map((one) => one.verifyPersonal({ address: anna.address, message: 'x', signature }))
    t.strictSame(results[0], results[1])
    if (results[0]?.reason === 'signature-malformed') seen++
  }
  t.equal(seen, 3)
})

t.test('typed data beyond the limits is rejected before it costs anything', async (t) => {
  const nothing = `0x${'11'.repeat(65)}`
  const rejected = (typedData: unknown) => {
    const text = typeof typedData === 'string' ? typedData : JSON.stringify(typedData)
    const { reason } = native.verifyTypedData({ address: anna.address, typedData: text, signature: nothing })
    return reason === 'typed-data-malformed'
  }
  const base = { types: { X: [{ name: 'a', type: 'uint256' }] }, primaryType: 'X', domain: {}, message: { a: 1 } }
  t.notOk(rejected(base), 'the base is sound')
  const withType = (type: string, a: unknown) => ({ ...base, types: { X: [{ name: 'a', type }] }, message: { a } })
  for (const [name, document] of Object.entries({
    'a number that JSON rounds': JSON.stringify(base).replace('"a":1}', '"a":9007199254740993}'),
    'a fraction': JSON.stringify(base).replace('"a":1}', '"a":1.0}'),
    'an exponent': JSON.stringify(base).replace('"a":1}', '"a":1e3}'),
    'a document of more than 64 KiB': withType('string', 'x'.repeat(64 * 1024)),
    'a deep document': withType(`uint256${'[]'.repeat(15)}`, JSON.parse(`${'['.repeat(15)}${']'.repeat(15)}`)),
    'a very deep text': '['.repeat(60_000),
    'more than 64 types': {
      ...base,
      types: { ...base.types, ...Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`T${n}`, []])) },
    },
    'too many values': withType(
      'uint8[]',
      Array.from({ length: 5000 }, () => 1),
    ),
    'types whose texts are long': longTypes(),
    'a member that no signature covers': { ...base, note: 'pay me' },
    'a struct with one more member': { ...base, message: { a: 1, b: 2 } },
    'an unknown domain member': { ...base, domain: { name: 'x', owner: 'y' } },
    'a domain that is not what its type says': {
      ...base,
      types: { ...base.types, EIP712Domain: [{ name: 'name', type: 'string' }] },
    },
    'a domain type with a member of another type': {
      ...base,
      domain: { chainId: 1 },
      types: { ...base.types, EIP712Domain: [{ name: 'chainId', type: 'uint8' }] },
    },
    'a struct that shadows a type': { ...base, types: { X: [{ name: 'a', type: 'uint7' }], uint7: [] } },
    'a name that holds a list': {
      ...base,
      types: { X: [{ name: 'a,uint256 b', type: 'uint256' }] },
      message: { 'a,uint256 b': 1 },
    },
    'two members of one name': {
      ...base,
      types: {
        X: [
          { name: 'a', type: 'uint256' },
          { name: 'a', type: 'uint256' },
        ],
      },
    },
    'an alias': withType('uint', 1),
    'a size that there is not': withType('uint7', 1),
    'a size with a zero before': withType('uint08', 1),
    bytes0: withType('bytes0', '0x'),
    bytes33: withType('bytes33', `0x${'00'.repeat(33)}`),
    'too few bytes': withType('bytes4', '0x010203'),
    'half a byte': withType('bytes', '0x0'),
    'a number as truth value': withType('bool', 1),
    'a wrong checksum': withType('address', '0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed'),
    'an array of another length': withType('uint8[2]', [1]),
    'nothing where a struct stands': { ...base, types: { X: [{ name: 'a', type: 'X' }] }, message: { a: null } },
    'half a surrogate pair': JSON.stringify(withType('string', 'x')).replace('"a":"x"', '"a":"\\ud800"'),
    'the prototype as a type': JSON.stringify(base).replace('"primaryType":"X"', '"primaryType":"__proto__"'),
    'the domain as primary type': { ...base, primaryType: 'EIP712Domain' },
    'a list': [],
    'no JSON': '{',
  }))
    t.ok(rejected(document), name)
  const deepest = withType(`uint256${'[]'.repeat(14)}`, JSON.parse(`${'['.repeat(14)}${']'.repeat(14)}`))
  t.notOk(rejected(deepest), 'as deep as it may be')
  t.notOk(rejected(withType('uint8[2]', [1, 255])), 'an array of its length')
  t.notOk(
    rejected(
      withType(
        'uint8[]',
        Array.from({ length: 4000 }, () => 1),
      ),
    ),
    'as many values as there may be',
  )
})

/** Returns 64 types that refer to each other, so that the text of each type contains all types. */
function longTypes() {
  const names = Array.from({ length: 60 }, (_, n) => `Struct${n}`)
  const empty = Object.fromEntries(names.map((name) => [name, [] as { name: string; type: string }[]]))
  const types: typeof empty = { ...empty, Root: names.map((name, n) => ({ name: `m${n}`, type: name })) }
  for (const [n, name] of names.entries()) {
    types[name] = Array.from({ length: 7 }, (_, k) => ({ name: `a${k}`, type: `${names[(n + k + 1) % 60]}[]` }))
  }
  const value = Object.fromEntries(Array.from({ length: 7 }, (_, k) => [`a${k}`, []]))
  const message = Object.fromEntries(names.map((_, n) => [`m${n}`, value]))
  return { types, primaryType: 'Root', domain: {}, message }
}

t.test(
  'W-024 W-027 W-028 verification is a pure function: nothing is stored, and typed data does not change results of personal messages',
  async (t) => {
    const message = 'login 1'
    const signature = await anna.signMessage({ message })
    const request = { address: anna.address, message, signature }
    const before = native.verifyPersonal(request)
    const [vector] = vectors.signatures.filter(({ id }) => id === 'td-eip712-mail')
    if (vector === undefined) throw new Error('the vector is missing')
    const typed = { address: vector.address, typedData: JSON.stringify(vector.typedData), signature: vector.signature }
    const responses = Array.from({ length: 3 }, () => native.verifyTypedData(typed))
    t.strictSame(responses, Array(3).fill(responses[0]))
    t.equal(responses[0]?.valid, true)
    t.match(responses[0], { primaryType: 'Mail', domain: { name: 'Ether Mail', chainId: '1' } })
    t.strictSame(native.verifyPersonal(request), before)
  },
)

t.test('a message that is not text, or too long, is malformed', async (t) => {
  const signature = await anna.signMessage({ message: 'x' })
  const reasonOf = (message: string, messageEncoding: 'utf8' | 'hex' = 'utf8') =>
    native.verifyPersonal({ address: anna.address, message, messageEncoding, signature }).reason
  t.equal(reasonOf('x'.repeat(16 * 1024)), 'signature-mismatch')
  t.equal(reasonOf('x'.repeat(16 * 1024 + 1)), 'message-malformed')
  t.equal(reasonOf('é'.repeat(8 * 1024 + 1)), 'message-malformed')
  t.equal(reasonOf('\ud800'), 'message-malformed')
  t.equal(reasonOf('0x0', 'hex'), 'message-malformed')
  t.equal(reasonOf('hello', 'hex'), 'message-malformed')
  t.equal(native.verifyPersonal({ address: 'anna', message: 'x', signature }).reason, 'address-invalid')
})

t.test('the address of a key equals that of viem', async (t) => {
  for (let seed = 0; seed < 20; seed++) {
    const account = privateKeyToAccount(keyOf(seed))
    t.equal(addressOfKey(viem.toBytes(account.publicKey)), account.address.toLowerCase())
  }
})
