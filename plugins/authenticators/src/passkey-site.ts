import { isIP } from 'node:net'

/** Address of the site, as authenticators know it, or the reason why the site cannot use passkeys. */
export type PasskeySite =
  | {
      /** Host of the site (WebAuthn Level 3, "RP ID"). */
      readonly rpId: string
      /** Scheme, host and port of the site. */
      readonly origin: string
    }
  | { readonly unavailable: 'site-ip-address' | 'site-insecure' }

/**
 * Returns the address for which passkeys are created and checked. Browsers offer passkeys for host names only, and only
 * with HTTPS or on `localhost`.
 *
 * @param siteUrl absolute URL from the configuration, never from a request
 */
export function passkeySiteOf(siteUrl: string): PasskeySite {
  const { hostname, origin, protocol } = new URL(siteUrl)
  // The host of an IPv6 address is in brackets.
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return { unavailable: 'site-ip-address' }
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  return protocol === 'https:' || isLocal ? { rpId: hostname, origin } : { unavailable: 'site-insecure' }
}
