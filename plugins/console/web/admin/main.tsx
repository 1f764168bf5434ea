import './styles.css'
import { setNonce } from 'get-nonce'
import { createRoot } from 'react-dom/client'
import { App } from '../app/app.tsx'
import { LanguageChoice } from '../text/language-choice.ts'
import { addTexts } from '../text/texts.ts'
import { Api } from './api/call.ts'
import { ApiProvider } from './api/context.tsx'
import { SessionState } from './shell/session-state.ts'
import { Shell } from './shell/shell.tsx'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

addTexts({ en, 'zh-CN': zhCN })
// Dialogs keep the page behind them from scrolling by a style of their own.
setNonce(document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '')

const languages = new LanguageChoice(navigator.languages)
const session = new SessionState()
const api = new Api(languages.current, () => session.end())

createRoot(document.getElementById('page') as HTMLElement).render(
  <App languages={languages}>
    <ApiProvider api={api}>
      <Shell session={session} />
    </ApiProvider>
  </App>,
)
