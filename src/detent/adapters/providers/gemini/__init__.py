"""Google Gemini: generateContent, on AI Studio and on Vertex AI."""
