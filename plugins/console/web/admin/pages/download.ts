/** Saves a text that the page has as a file of the user. */
export function downloadText(text: string, name: string, type: string): void {
  const href = URL.createObjectURL(new Blob([text], { type }))
  Object.assign(document.createElement('a'), { href, download: name }).click()
  URL.revokeObjectURL(href)
}
