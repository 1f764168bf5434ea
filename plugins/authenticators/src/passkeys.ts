import { hash, randomBytes } from 'node:crypto'
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { Database } from '@plinth/database'
import { RejectedProofError } from '@plinth/iam'
import { fitTextToColumn } from '@plinth/kernel'
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { type Challenges, challengeLifetimeMs } from './challenges.ts'
import { businessError } from './declarations.ts'
import { HandleRow, PasskeyRow } from './entities.ts'
import type { PasskeySite } from './passkey-site.ts'

/**
 * Algorithms of passkeys: Ed25519, ES256 and RS256 (COSE, RFC 9053). The default of the library begins with ML-DSA-44,
 * which is experimental in Node.js 24 and unknown to other runtimes.
 */
const algorithms = [-8, -7, -257]

/** Loads the library at the first use, because loading takes 145 ms, which each command of a product would pay. */
const loadLibrary = () => import('@simplewebauthn/server')
const loadHelpers = () => import('@simplewebauthn/server/helpers')

/** Each passkey is in the list of every later setup, which the browser reads. */
const maxPasskeys = 20
const maxNameLength = 64

/** Names of password managers and systems by AAGUID (passkeydeveloper/passkey-authenticator-aaguids). */
const namesByAaguid: Readonly<Record<string, string>> = {
  'ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4': 'Google Password Manager',
  'fbfc3007-154e-4ecc-8c0b-6e020557d7bd': 'Apple Passwords',
  '08987058-cadc-4b81-b6e1-30de50dcbe96': 'Windows Hello',
  '9ddd1817-af5a-4672-a2b9-3e3dd95000a9': 'Windows Hello',
  '6028b017-b1d4-4c02-b4b3-afcdafc96bb2': 'Windows Hello',
  'bada5566-a7aa-401f-bd96-45619a55120d': '1Password',
  'd548826e-79b4-db40-a3d8-11116f7e8349': 'Bitwarden',
  '531126d6-e717-415c-9320-3d9aa6981239': 'Dashlane',
}

interface PasskeyDependencies {
  readonly db: Database
  readonly challenges: Challenges
  /** Returns the address of the site, which can change at any time. */
  readonly siteOf: () => PasskeySite
  /** Returns the name of the product for dialogs of the browser. */
  readonly issuerOf: () => string
  /** Is called for a passkey whose counter did not increase. */
  readonly onSuspected: (passkey: PasskeyRow) => Promise<void>
}

/** A passkey that is verified, and not stored yet. */
export interface NewPasskey {
  readonly credentialId: string
  readonly publicKey: string
  readonly counter: number
  readonly transports: string
  readonly backupEligible: boolean
  readonly backedUp: boolean
  readonly aaguid: string
  readonly rpId: string
}

interface Options<T> {
  readonly options: T
  readonly challengeId: string
}

/** A response of an authenticator, and the challenge that it must contain. */
interface Answer<T> {
  readonly challengeId: string
  /** See `Challenges`. */
  readonly purpose: string
  readonly response: T
}

/** Passkeys of users: creation, and checks that the library leaves to its caller (WebAuthn Level 3, 7.1 and 7.2). */
export class Passkeys {
  readonly #parts: PasskeyDependencies

  constructor(parts: PasskeyDependencies) {
    this.#parts = parts
  }

  list(userId: number): Promise<PasskeyRow[]> {
    return this.#parts.db.fork().find(PasskeyRow, { userId }, { orderBy: { id: 'asc' } })
  }

  count(userId: number): Promise<number> {
    return this.#parts.db.fork().count(PasskeyRow, { userId })
  }

  /** Returns the number of passkeys that the present address of the site accepts. */
  async countUsable(userId: number): Promise<number> {
    const site = this.#parts.siteOf()
    return 'rpId' in site ? this.#parts.db.fork().count(PasskeyRow, { userId, rpId: site.rpId }) : 0
  }

  isUsable({ rpId }: PasskeyRow): boolean {
    const site = this.#parts.siteOf()
    return 'rpId' in site && site.rpId === rpId
  }

  /** Returns the user of a passkey, for the audit. The passkey is not proven. */
  async ownerOf(credentialId: string): Promise<number | null> {
    return (await this.#find(credentialId))?.userId ?? null
  }

  /**
   * @param userId user whose passkeys are listed for the browser. Absent before the first factor, so that the response
   *   reveals nothing about accounts.
   * @throws BusinessError "409" `authenticators.passkeys-unavailable`
   */
  async requestOptions(purpose: string, userId?: number): Promise<Options<PublicKeyCredentialRequestOptionsJSON>> {
    const { rpId } = this.#site()
    const passkeys = userId === undefined ? [] : (await this.list(userId)).filter((one) => this.isUsable(one))
    const { generateAuthenticationOptions } = await loadLibrary()
    const options = await generateAuthenticationOptions({
      rpID: rpId,
      userVerification: 'required',
      timeout: challengeLifetimeMs,
      ...(userId === undefined ? {} : { allowCredentials: passkeys.map(descriptorOf) }),
    })
    return { options, challengeId: await this.#parts.challenges.store(options.challenge, purpose) }
  }

  /**
   * Checks a passkey.
   *
   * @param userId user that the passkey must belong to; absent for a sign-in
   * @throws BusinessError "401" `authenticators.passkey-refused`, with the reason for the audit as its cause
   */
  async verify({ challengeId, purpose, response }: Answer<AuthenticationResponseJSON>, userId?: number) {
    const { db, challenges, onSuspected } = this.#parts
    const challenge = await challenges.take(challengeId, purpose)
    if (challenge === undefined) throw refused('challenge-invalid')
    const site = this.#site()
    const passkey = await this.#find(response.id)
    if (passkey === null) throw refused('passkey-unknown')
    if (userId !== undefined && passkey.userId !== userId) throw refused('passkey-of-another-user')
    if (passkey.rpId !== site.rpId) throw refused('passkey-of-another-address')
    const handle = response.response.userHandle
    // Without a user name, the handle is mandatory (WebAuthn Level 3, 7.2, step 6).
    if (handle === undefined ? userId === undefined : handle !== (await this.#handleOf(passkey.userId)))
      throw refused('user-handle-mismatch')
    const checked = await this.#checkAssertion(response, challenge, passkey, site)
    const { newCounter, credentialDeviceType, credentialBackedUp } = checked
    if ((credentialDeviceType === 'multiDevice') !== passkey.backupEligible) throw refused('backup-eligibility-changed')
    const counter = Number(passkey.counter)
    if ((newCounter > 0 || counter > 0) && newCounter <= counter) {
      await onSuspected(passkey)
      throw refused('counter-not-increased')
    }
    const used = await db.execute(
      'update authenticator_passkey set last_used_at = ?, backed_up = ? where id = ? and user_id = ?',
      [new Date(db.clock.now()), credentialBackedUp, passkey.id, passkey.userId],
    )
    if (used === 0) throw refused('passkey-unknown')
    // A sign-in at the same time may have stored a larger counter. Both responses are valid.
    await db.execute('update authenticator_passkey set counter = ? where id = ? and counter < ?', [
      newCounter,
      passkey.id,
      newCounter,
    ])
    return passkey
  }

  async #checkAssertion(
    response: AuthenticationResponseJSON,
    challenge: string,
    { credentialId, publicKey }: PasskeyRow,
    { rpId, origin }: { readonly rpId: string; readonly origin: string },
  ) {
    const { verifyAuthenticationResponse } = await loadLibrary()
    const verification = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      expectedType: 'webauthn.get',
      requireUserVerification: true,
      // The library compares the counter before the signature. A forged response must not look like a copied passkey, so
      // the counter is compared later.
      credential: { id: credentialId, publicKey: Buffer.from(publicKey, 'base64url'), counter: 0 },
    }).catch((cause: unknown) => {
      throw refused('response-invalid', cause)
    })
    if (!verification.verified) throw refused('signature-mismatch')
    if (await isCrossOrigin(response.response.clientDataJSON)) throw refused('cross-origin')
    return verification.authenticationInfo
  }

  /**
   * Returns options for a new passkey. The first call for a user stores the user handle.
   *
   * @throws BusinessError "409" `authenticators.passkeys-unavailable`, `authenticators.passkey-limit`
   */
  async creationOptions(
    purpose: string,
    { userId, username }: { readonly userId: number; readonly username: string },
  ): Promise<Options<PublicKeyCredentialCreationOptionsJSON>> {
    const { rpId } = this.#site()
    const passkeys = await this.list(userId)
    if (passkeys.length >= maxPasskeys) throw passkeyLimit()
    const issuer = this.#parts.issuerOf()
    const { generateRegistrationOptions } = await loadLibrary()
    const options = await generateRegistrationOptions({
      rpName: issuer,
      rpID: rpId,
      // Several products can share one host. The name of the product distinguishes their passkeys.
      userName: `${username} (${issuer})`,
      userDisplayName: username,
      userID: Buffer.from(await this.#createHandle(userId), 'base64url'),
      timeout: challengeLifetimeMs,
      attestationType: 'none',
      excludeCredentials: passkeys.map(descriptorOf),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      supportedAlgorithmIDs: algorithms,
    })
    return { options, challengeId: await this.#parts.challenges.store(options.challenge, purpose) }
  }

  /**
   * Checks a new passkey. Does not store it.
   *
   * @throws BusinessError "400" `authenticators.passkey-invalid`, with the reason for the audit as its cause
   */
  async verifyNew({ challengeId, purpose, response }: Answer<RegistrationResponseJSON>): Promise<NewPasskey> {
    const challenge = await this.#parts.challenges.take(challengeId, purpose)
    if (challenge === undefined) throw invalid('challenge-invalid')
    const { rpId, origin } = this.#site()
    if (await hasCertificates(response.response.attestationObject)) throw invalid('attestation-unexpected')
    const { verifyRegistrationResponse } = await loadLibrary()
    const verification = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      expectedType: 'webauthn.create',
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    }).catch((cause: unknown) => {
      throw invalid('response-invalid', cause)
    })
    if (!verification.verified) throw invalid('signature-mismatch')
    if (await isCrossOrigin(response.response.clientDataJSON)) throw invalid('cross-origin')
    const { credential, credentialDeviceType, credentialBackedUp, aaguid } = verification.registrationInfo
    const publicKey = Buffer.from(credential.publicKey)
    if (publicKey.length > 2048 || credential.id.length > 1364) throw invalid('too-long')
    return {
      credentialId: credential.id,
      publicKey: publicKey.toString('base64url'),
      counter: credential.counter,
      transports: fitTextToColumn((credential.transports ?? []).join(','), 128),
      backupEligible: credentialDeviceType === 'multiDevice',
      backedUp: credentialBackedUp,
      aaguid,
      rpId,
    }
  }

  /**
   * Stores a verified passkey. Must be called in the transaction of `Credentials.change`.
   *
   * @param name default: the name of the password manager or system
   * @throws BusinessError "409" `authenticators.passkey-taken`, `authenticators.passkey-limit`
   */
  async add(userId: number, passkey: NewPasskey, name?: string): Promise<PasskeyRow> {
    const { db } = this.#parts
    const em = db.fork()
    const credentialHash = hash('sha256', passkey.credentialId)
    if ((await em.count(PasskeyRow, { credentialHash })) > 0) throw businessError('passkey-taken')
    if ((await em.count(PasskeyRow, { userId })) >= maxPasskeys) throw passkeyLimit()
    const row = em.create(PasskeyRow, {
      ...passkey,
      id: db.newId(),
      userId,
      credentialHash,
      name: fitTextToColumn(name?.trim() || namesByAaguid[passkey.aaguid] || 'Passkey', maxNameLength),
      createdAt: new Date(db.clock.now()),
      lastUsedAt: null,
    })
    await em.flush()
    return row
  }

  async #find(credentialId: string): Promise<PasskeyRow | null> {
    return this.#parts.db.fork().findOne(PasskeyRow, { credentialHash: hash('sha256', credentialId) })
  }

  async #handleOf(userId: number): Promise<string | undefined> {
    return (await this.#parts.db.fork().findOne(HandleRow, { userId }))?.handle
  }

  async #createHandle(userId: number): Promise<string> {
    const known = await this.#handleOf(userId)
    if (known !== undefined) return known
    const { db } = this.#parts
    const em = db.fork()
    const handle = randomBytes(32).toString('base64url')
    em.create(HandleRow, { id: db.newId(), userId, handle, createdAt: new Date(db.clock.now()) })
    try {
      await em.flush()
      return handle
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error
      return (await this.#handleOf(userId)) ?? handle
    }
  }

  /** @throws BusinessError "409" `authenticators.passkeys-unavailable` */
  #site() {
    const site = this.#parts.siteOf()
    if ('unavailable' in site) throw businessError('passkeys-unavailable', { text: site.unavailable })
    return site
  }
}

const descriptorOf = ({ credentialId, transports }: PasskeyRow) => ({
  id: credentialId,
  transports: transports.split(',').filter((one) => one !== '') as AuthenticatorTransport[],
})

/**
 * Returns true for an attestation other than `none` and self attestation. It was not requested, and the library would
 * check its certificates and download their revocation lists. An unreadable object is left to the library.
 */
async function hasCertificates(attestationObject: string): Promise<boolean> {
  const { decodeAttestationObject } = await loadHelpers()
  try {
    const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')))
    const format = decoded.get('fmt')
    return format !== 'none' && (format !== 'packed' || decoded.get('attStmt').get('x5c') !== undefined)
  } catch {
    return false
  }
}

/** Pages of this site never use passkeys in a frame of another site (WebAuthn Level 3, 7.1, step 10, and 7.2, step 13). */
async function isCrossOrigin(clientDataJson: string): Promise<boolean> {
  const { decodeClientDataJSON } = await loadHelpers()
  const { crossOrigin, topOrigin } = decodeClientDataJSON(clientDataJson)
  return crossOrigin === true || topOrigin !== undefined
}

const passkeyLimit = () => businessError('passkey-limit', { params: { limit: maxPasskeys } })

/** Returns the error for an invalid passkey. Only the audit contains the reason. */
const refused = (reason: string, cause?: unknown) =>
  businessError('passkey-refused', { cause: rejection(reason, cause) })
const invalid = (reason: string, cause?: unknown) =>
  businessError('passkey-invalid', { cause: rejection(reason, cause) })

const rejection = (reason: string, cause?: unknown) =>
  Object.assign(new RejectedProofError(`authenticators.${reason}`), { cause })
