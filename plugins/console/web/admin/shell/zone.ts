import { useKept } from './kept-context.ts'
import { useSite } from './site-context.ts'

/** The time zone that moments are shown and typed in. */
export interface Zone {
  /** IANA name. */
  readonly name: string
  readonly site: string
  /** Zone of this browser. */
  readonly own: string
}

/** Returns the zone of the site, unless the user has chosen the zone of the browser. */
export function useZone(): Zone {
  const { timeZone: site } = useSite()
  const { zone } = useKept()
  const own = ownZone()
  return { name: zone === 'own' ? own : site, site, own }
}

const ownZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone

/** Returns the difference of a zone to UTC, as people write it: "UTC+8". */
export function offsetText(zone: string, at: Date): string {
  const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'shortOffset' }).formatToParts(at)
  const text = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  return text.replace('GMT', 'UTC')
}
