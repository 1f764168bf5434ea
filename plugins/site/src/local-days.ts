/**
 * Returns a function that converts a moment to its day, `YYYY-MM-DD`, in the current time zone. The formatter is cached
 * per zone, because creating it takes hundreds of times as long as using it.
 * @param zone returns a name of the IANA time zone database
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
