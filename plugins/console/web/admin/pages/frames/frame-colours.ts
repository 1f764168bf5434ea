/** Variables of this page that contain the colours for frames. */
const variables = {
  page: '--page',
  surface: '--surface',
  text: '--mantine-color-text',
  dimmed: '--mantine-color-dimmed',
  border: '--edge',
  primary: '--accent',
  good: '--good',
  warn: '--warn',
  bad: '--bad',
} as const

/** Returns the current colours of the back office by name. */
export function frameColours(): Readonly<Record<keyof typeof variables, string>> {
  const styles = getComputedStyle(document.documentElement)
  const colours = Object.entries(variables).map(([name, variable]) => [name, styles.getPropertyValue(variable).trim()])
  return Object.fromEntries(colours) as Record<keyof typeof variables, string>
}
