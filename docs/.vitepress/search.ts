import type { DefaultTheme } from 'vitepress'

type SearchOptions = NonNullable<NonNullable<DefaultTheme.LocalSearchOptions['miniSearch']>['searchOptions']>

/**
 * Options of the search. VitePress sends the source of the functions to the browser, so they must not use anything
 * outside of themselves.
 */
export const searchOptions: SearchOptions = {
  // A title says what a page is about. The text of a page often mentions a word only in passing.
  boost: { title: 12, titles: 4, text: 1 },
  fuzzy: (term) => (term.length > 5 ? 0.2 : false),
  boostDocument: (id) => {
    const path = String(id)
    if (/^\/reference\/http-api\//.test(path)) return 0.4
    if (/^\/reference\//.test(path)) return 0.2
    if (
      /^\/(?:zh-CN\/)?(?:configuration|errors|permissions|migrations|cli|dependencies|native-packages|personal-data)\b/.test(
        path,
      )
    ) {
      return 0.5
    }
    return /^\/(?:zh-CN\/)?how-to\//.test(path) ? 2 : 1
  },
  // Words that readers type, and the words of the documents for the same things.
  processTerm: (term) => {
    const word = term.toLowerCase()
    const synonyms: Readonly<Record<string, readonly string[]>> = {
      api: ['route', 'openapi'],
      auth: ['sign-in', 'permission'],
      authentication: ['sign-in', 'permission'],
      authorization: ['permission'],
      background: ['task'],
      breakpoint: ['debugger', 'inspector'],
      controller: ['route'],
      cron: ['scheduled', 'task'],
      debug: ['debugger', 'inspector'],
      docker: ['deployment', 'compose'],
      email: ['mail'],
      endpoint: ['route'],
      env: ['environment', 'configuration'],
      hook: ['event'],
      job: ['scheduled', 'task'],
      kubernetes: ['deployment'],
      listener: ['event', 'handler'],
      logging: ['log', 'monitoring'],
      login: ['sign-in'],
      middleware: ['fastify', 'route'],
      migration: ['table', 'change'],
      model: ['table', 'entity'],
      oauth: ['openid', 'sso'],
      orm: ['table', 'entity'],
      queue: ['event', 'outbox'],
      revert: ['rollback'],
      schedule: ['scheduled'],
      schema: ['table'],
      settings: ['configuration'],
      upload: ['storage', 'file'],
      validate: ['route'],
      validation: ['route'],
      websockets: ['websocket'],
    }
    return [word, ...(Object.hasOwn(synonyms, word) ? (synonyms[word] ?? []) : [])]
  },
}
