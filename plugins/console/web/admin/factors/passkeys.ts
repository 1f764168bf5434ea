import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import type { Api } from '../api/call.ts'
import type { Callable } from '../api/operations.ts'

/** Passkeys need a secure page at a host name. They never work at an IP address (WebAuthn Level 3, RP ID). */
export const canUsePasskeys = 'PublicKeyCredential' in window && !/^[\d.]+$|:/.test(location.hostname)

export interface PasskeyChallenge {
  readonly options: PublicKeyCredentialRequestOptionsJSON | PublicKeyCredentialCreationOptionsJSON
  readonly challengeId: string
}

/** Kind of a prompt: sign with a passkey, sign with one from the suggestions of a field, or create one. */
type Prompt = 'sign' | 'suggest' | 'create'

/**
 * Shows the prompt of the browser for a passkey and returns its response for the server. The library is loaded with the
 * first prompt.
 *
 * @throws NotAllowedError if the user cancelled, the time is over, or no passkey was found; InvalidStateError if the
 *   device already has a passkey of the user
 */
async function promptFor(kind: Prompt, { options }: PasskeyChallenge, signal: AbortSignal) {
  const { startAuthentication, startRegistration, WebAuthnAbortService } = await import('@simplewebauthn/browser')
  signal.throwIfAborted()
  const end = () => WebAuthnAbortService.cancelCeremony()
  signal.addEventListener('abort', end)
  try {
    return kind === 'create'
      ? await startRegistration({ optionsJSON: options as PublicKeyCredentialCreationOptionsJSON })
      : await startAuthentication({
          optionsJSON: options as PublicKeyCredentialRequestOptionsJSON,
          useBrowserAutofill: kind === 'suggest',
        })
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** True if the user cancelled the prompt, or did not use it in time. A page cannot know which, so it is no error. */
export const isCancelled = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'NotAllowedError' || error.name === 'AbortError')

export interface PasskeyUse<Result> {
  /** Operation that returns the options of the prompt. */
  readonly options: Callable
  /** Members that both requests contain. */
  readonly input: object
  /** Sends the response of the passkey to the server. */
  send(body: object, signal: AbortSignal): Promise<Result>
}

/** Requests a challenge, shows the prompt, and sends the response of the passkey. */
export async function askPasskey<Result>(
  api: Api,
  kind: Prompt,
  { options, input, send }: PasskeyUse<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const challenge = await api.call<PasskeyChallenge>(options, { body: input, signal })
  const limit = AbortSignal.any([signal, AbortSignal.timeout(lifetimeOf(challenge))])
  const response = await promptFor(kind, challenge, limit)
  return send({ ...input, challengeId: challenge.challengeId, response }, signal)
}

/** A prompt ends this time in milliseconds before its challenge expires. */
const reserveMs = 15_000

const lifetimeOf = ({ options }: PasskeyChallenge) => Math.max(reserveMs, (options.timeout ?? 60_000) - reserveMs)

/** Maximum number of rejected passkeys from the suggestions of one field. */
const maxRejected = 5

/**
 * Lets the browser suggest passkeys in the field for the user name, until one is used or the signal is aborted. A new
 * challenge replaces the one that expires.
 *
 * @param onRejected is called with the error of a passkey that the server rejected
 * @returns the result of the passkey; `undefined` if the browser has no such suggestions
 */
export async function suggestPasskeys<Result>(
  api: Api,
  use: PasskeyUse<Result>,
  onRejected: (error: Error) => void,
  signal: AbortSignal,
): Promise<Result | undefined> {
  if (!canUsePasskeys || (await PublicKeyCredential.isConditionalMediationAvailable?.()) !== true) return undefined
  let rejected = 0
  let isSent = false
  const send: typeof use.send = async (body, sent) => {
    isSent = true
    return use.send(body, sent)
  }
  while (rejected < maxRejected && !signal.aborted) {
    isSent = false
    try {
      return await askPasskey(api, 'suggest', { ...use, send }, signal)
    } catch (error) {
      const isExpired = error instanceof Error && error.name === 'AbortError'
      // Without a passkey that was rejected, the button of the page is the way to try again.
      if (signal.aborted || (!isSent && !isExpired)) return undefined
      if (!isSent) continue
      rejected++
      onRejected(error as Error)
    }
  }
  return undefined
}
