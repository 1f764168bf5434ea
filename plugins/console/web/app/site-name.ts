/** What the site calls itself, as the server wrote it into the page; the name of the platform while it has no name. */
export const siteName: string =
  document.querySelector<HTMLMetaElement>('meta[name="application-name"]')?.content || 'Plinth'
