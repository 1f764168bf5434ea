import type { RecordedChange } from './recorded-change.ts'

export const wallets: readonly RecordedChange[] = [
  {
    file: 'plugins/web3/src/signatures/typed-data/digest.ts',
    fragment: '.filter((name) => name !== type).sort()',
    replacement: '.filter((name) => name !== type)',
    effect: 'The digest of typed data depends on the order in which structs are found.',
    breaks: ['W-002'],
    noticedBy: ['plugins/web3/test/signatures.test.ts'],
  },
  {
    file: 'plugins/wallet-login/src/challenges.ts',
    fragment: `    if (this.#parts.clock.now() >= stored.expiresAt) return 'challenge-expired'
`,
    replacement: '',
    effect: 'An expired challenge opens a session.',
    breaks: ['W-012'],
    noticedBy: ['plugins/wallet-login/test/wallet-login.test.ts'],
    only: [
      'W-011 W-012 W-013 W-025 a challenge is valid for one login of one wallet until it expires; all other proofs get one response, and the audit has the reason (sqlite)',
    ],
  },
  {
    file: 'plugins/wallet-login/src/wallet-login.ts',
    fragment: 'if (!result.valid) throw',
    replacement: "if (result.reason === 'chain-unavailable') throw",
    effect: 'A signature that the verifier rejects opens a session.',
    breaks: ['W-018'],
    noticedBy: ['plugins/wallet-login/test/wallet-login.test.ts'],
  },
  {
    file: 'plugins/web3/src/addresses.ts',
    fragment: `  const address = normalizeAddress(text)
  return address === null ? null : checksumOf(address)`,
    replacement: `  const address = normalizeAddress(text)
  if (address !== null) fetch(\`http://127.0.0.3:2000/\${address}\`).catch(() => undefined)
  return address === null ? null : checksumOf(address)`,
    effect: 'A helper for addresses asks a server.',
    breaks: ['W-008'],
    noticedBy: ['plugins/web3/test/addresses.test.ts'],
  },
]
