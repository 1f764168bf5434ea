import '../app/styles.css'
import { createRoot } from 'react-dom/client'
import { App } from '../app/app.tsx'
import { Boundary } from '../app/boundary.tsx'
import { LanguageChoice } from '../text/language.ts'
import { InstallApi } from './install-api.ts'
import { Wizard } from './wizard.tsx'

declare global {
  interface Window {
    /** Base URL of the install operations. Another site that serves this page sets it before the script loads. */
    readonly __INSTALL_API_BASE__?: unknown
  }
}

const ownBase = '../api/v1/install'
const givenBase = window.__INSTALL_API_BASE__
const base = typeof givenBase === 'string' && givenBase !== '' ? givenBase.replace(/\/+$/, '') : ownBase

const languages = new LanguageChoice(navigator.languages)
const api = new InstallApi({ base, language: languages.current, fetch: (input, init) => fetch(input, init) })

createRoot(document.getElementById('page') as HTMLElement).render(
  <App languages={languages}>
    <Boundary>
      <Wizard api={api} />
    </Boundary>
  </App>,
)
