/**
 * Tells the day of a moment, `YYYY-MM-DD`, in a time zone that is read at use. A formatter is made once for a zone: making it
 * takes hundreds of times as long as using it.
 *
 * @param zone name of the IANA time zone database
 */
export function localDays(zone: () => string): (moment: Date) => string {
  let days: { readonly zone: string; readonly format: Intl.DateTimeFormat } | undefined
  return (moment) => {
    const timeZone = zone()
    if (days?.zone !== timeZone) {
      const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
      days = { zone: timeZone, format: new Intl.DateTimeFormat('en', { ...parts, calendar: 'iso8601', timeZone }) }
    }
    const parts = days.format.formatToParts(moment)
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.find(({ type }) => type === name)?.value ?? ''
    return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`
  }
}
