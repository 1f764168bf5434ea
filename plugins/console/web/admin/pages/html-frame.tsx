import { useMemo } from 'react'
import { styleNonce, useLanguage } from '../../app/app.tsx'
import { framedHtml } from './framed-html.ts'
import classes from './html-frame.module.css'

interface HtmlFrameProps {
  readonly html: string
  readonly title: string
}

/** Shows a document of another author in a frame without scripts and without active links. */
export default function HtmlFrame({ html, title }: HtmlFrameProps) {
  const { translate, language } = useLanguage()
  const framed = useMemo(() => framedHtml(html, styleNonce(), language), [html, language])
  return (
    <>
      <iframe className={classes.frame} title={title} sandbox="" srcDoc={framed.html} />
      {framed.heldBack > 0 && (
        <p className={classes.note}>{translate('admin.pictures-held-back', { count: framed.heldBack })}</p>
      )}
    </>
  )
}
