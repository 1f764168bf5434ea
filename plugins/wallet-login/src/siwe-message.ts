/** What a message of Sign-In with Ethereum says (EIP-4361). */
export interface SiweContent {
  /** Host, with a port that is not the usual one. */
  readonly domain: string
  /** With its checksum (EIP-55). */
  readonly address: string
  /** One line. */
  readonly statement: string
  readonly uri: string
  readonly chainId: number
  /** At least 8 letters and digits. */
  readonly nonce: string
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/** The text, with LF between its lines and none at its end: every byte of it is signed. */
export const siweMessage = ({ domain, address, statement, uri, chainId, nonce, issuedAt, expiresAt }: SiweContent) =>
  [
    `${domain} wants you to sign in with your Ethereum account:`,
    address,
    '',
    statement,
    '',
    `URI: ${uri}`,
    'Version: 1',
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt.toISOString()}`,
    `Expiration Time: ${expiresAt.toISOString()}`,
  ].join('\n')
