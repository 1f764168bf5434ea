import './styles.css'
import { setNonce } from 'get-nonce'
import { lazy } from 'react'
import { createRoot } from 'react-dom/client'
import { App, styleNonce } from '../app/app.tsx'
import { Boundary } from '../app/boundary.tsx'
import { addTexts } from '../text/texts.ts'
import { Api, Connection } from './api/call.ts'
import { ApiProvider } from './api/context.tsx'
import { Proofs } from './api/proofs.ts'
import { providerHere } from './providers/provider-flow.ts'
import { startDrafts } from './shell/drafts.ts'
import { createStoredColourScheme, createStoredLanguageChoice } from './shell/kept-context.ts'
import { providersWay, recoveryAddress, recoveryWay, SessionState } from './shell/session/session-state.ts'
import { Shell } from './shell/shell.tsx'
import { base } from './shell/site-context.ts'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

addTexts({ en, 'zh-CN': zhCN })
// Dialogs add a style element that prevents scrolling of the page. The content policy allows it only with the nonce.
setNonce(styleNonce())

startDrafts()
const languages = createStoredLanguageChoice(base)
const session = new SessionState()
const connection = new Connection()
const proofs = new Proofs(new BroadcastChannel(`plinth.proof ${base}`))
const api = new Api(languages.current, () => session.end(), connection, proofs)

const RecoveryPage = lazy(() => import('./recovery/recovery-page.tsx'))
const ProviderPage = lazy(() => import('./providers/provider-page.tsx'))

/** Returns the page of the address. The pages before the sign-in are not part of the shell. */
function pageHere() {
  if (location.pathname === recoveryAddress && recoveryWay !== undefined) return <RecoveryPage way={recoveryWay} />
  if (providerHere !== '' && providersWay !== undefined) return <ProviderPage way={providersWay} session={session} />
  return <Shell session={session} connection={connection} />
}

createRoot(document.getElementById('page') as HTMLElement).render(
  <App languages={languages} colours={createStoredColourScheme(base)}>
    <ApiProvider api={api}>
      <Boundary>{pageHere()}</Boundary>
    </ApiProvider>
  </App>,
)
