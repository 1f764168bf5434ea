import { htmlText, type PageRequest } from '@plinth/http'

const texts = {
  en: { title: 'One moment', message: 'The page is being prepared for its first use. It opens by itself.' },
  'zh-CN': { title: '请稍候', message: '页面正在为首次使用做准备，完成后会自动打开。' },
} as const

/** What is shown while the pages are being built: it asks again by itself, without a script. */
export function waitingPage({ nonce, locale, siteTitle = '' }: PageRequest): string {
  const language = locale.startsWith('zh') ? 'zh-CN' : 'en'
  const { title, message } = texts[language]
  return `<!doctype html>
<html lang="${language}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="refresh" content="2">
    <title>${siteTitle === '' ? title : `${title} · ${htmlText(siteTitle)}`}</title>
    <!-- None, so that the browser asks for none. -->
    <link rel="icon" href="data:,">
    <style nonce="${nonce}">
      :root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif; }
      main { max-width: 30rem; margin: 20vh auto 0; padding: 0 1.5rem; }
      h1 { font-size: 1.5rem; }
    </style>
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      <p role="status">${message}</p>
    </main>
  </body>
</html>
`
}
