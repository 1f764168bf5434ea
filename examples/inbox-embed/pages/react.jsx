import '@plinth/inbox-element'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { getToken } from './get-token.js'

const { apiUrl } = document.documentElement.dataset

function App() {
  const [route, setRoute] = useState('nothing')
  return (
    <main>
      <h1>React</h1>
      <plinth-inbox
        apiUrl={apiUrl}
        getToken={getToken}
        align="start"
        onplinth-open={({ detail }) => setRoute(detail.targetRoute ?? 'no page')}
      />
      <p>
        Opened: <output id="route">{route}</output>
      </p>
    </main>
  )
}

createRoot(document.querySelector('#app')).render(<App />)
