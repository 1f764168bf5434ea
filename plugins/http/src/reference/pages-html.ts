import type { ApiDocument } from '../openapi/document.ts'
import { htmlText } from '../pages/browser-page.ts'
import { type PageTexts, textWithCodeToHtml } from '../texts.ts'
import { type ListedOperation, operationHeadHtml, operationHtml, operationsOf } from './operation-html.ts'
import { schemaHtml } from './schema-html.ts'

const languages = { en: 'English', 'zh-CN': '中文' }

/** @param root path of the start page, to which all links are relative */
function page(document: ApiDocument, texts: PageTexts, root: string, title: string, content: string): string {
  const { locale, text, link } = texts
  const links = Object.entries(languages).map(
    ([tag, name]) => `<a href="?lang=${tag}" lang="${tag}"${tag === locale ? ' aria-current="true"' : ''}>${name}</a>`,
  )
  return [
    `<!doctype html><html lang="${htmlText(locale)}"><head><meta charset="utf-8">`,
    root === '' ? '' : `<base href="${root}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">',
    `<title>${htmlText(title)} · ${htmlText(document.info.title)}</title>`,
    '<link rel="stylesheet" href="reference.css"><script src="reference.js" defer></script></head>',
    `<body data-failed="${text('failed')}"><header><a href="${link('./')}">${text('title')}</a>`,
    // Only the start page has links to other languages. They reload the page, and `<base>` would change their target.
    root === '' ? `<nav aria-label="${text('language')}">${links.join(' ')}</nav>` : '',
    `</header><main><h1>${htmlText(title)}</h1>${content}</main></body></html>`,
  ].join('')
}

const tokenHtml = ({ text }: PageTexts) =>
  `<p><label for="token">${text('token')}</label><input id="token" type="password" autocomplete="off" ` +
  `aria-describedby="token-hint"><small id="token-hint">${text('token-hint')}</small></p>`

const rowHtml = (listed: ListedOperation, texts: PageTexts) => {
  const { text, link } = texts
  const address = link(`operations/${encodeURIComponent(listed.operation.operationId)}`)
  return `<details><summary>${operationHeadHtml(listed, texts)}</summary><p><a href="${address}">${text('open')}</a></p></details>`
}

/** Returns all operations by tag. The browser loads details when the user opens them. */
export function startPage(document: ApiDocument, texts: PageTexts): string {
  const { text, locale } = texts
  const operations = operationsOf(document)
  const sections = document.tags.map(({ name, description, 'x-description': byLanguage }) => {
    const rows = operations.filter(({ operation }) => operation.tags.includes(name))
    return (
      `<section><h2>${htmlText(name)}</h2><p>${textWithCodeToHtml(byLanguage[locale] ?? description)}</p>` +
      `${rows.map((row) => rowHtml(row, texts)).join('')}</section>`
    )
  })
  const search =
    `<p role="search"><label for="search">${text('search')}</label><input id="search" type="search" autocomplete="off">` +
    `<span role="status">${text('shown')} <span id="shown">${operations.length}</span></span></p>`
  const source = `<p><a href="openapi.json">${text('document')}</a></p>`
  const introduction = `<details class="about"><summary>${text('about')}</summary><div lang="en">${document.info.description
    .split('\n\n')
    .map((paragraph) => `<p>${textWithCodeToHtml(paragraph)}</p>`)
    .join('')}</div></details>`
  const title = `${document.info.title} ${document.info.version}`
  return page(document, texts, '', title, source + introduction + tokenHtml(texts) + search + sections.join(''))
}

export function operationPage(document: ApiDocument, texts: PageTexts, id: string, server: string): string | undefined {
  const listed = operationsOf(document).find(({ operation }) => operation.operationId === id)
  if (listed === undefined) return undefined
  const content = `${tokenHtml(texts)}<h2 class="head">${operationHeadHtml(listed, texts)}</h2>${operationHtml(listed, server, texts)}`
  return page(document, texts, '../', listed.operation.summary, content)
}

export function schemaPage(document: ApiDocument, texts: PageTexts, name: string): string | undefined {
  if (!Object.hasOwn(document.components.schemas, name)) return undefined
  const schema = document.components.schemas[name] ?? {}
  return page(document, texts, '../', name, schemaHtml(schema, texts))
}
